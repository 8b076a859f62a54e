"""The kernel that runs a report's notebook."""

from __future__ import annotations

from typing import Any, ClassVar

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from traitlets import default


class OwnKernel(AsyncKernelManager):
    """Runs the Python that this process runs, whatever kernels a user has installed under the same name."""

    started: ClassVar[list[OwnKernel]] = []

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.started.append(self)

    @default("kernel_spec_manager")
    def _own_python(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[])

    @default("transport_encryption")
    def _encrypted(self) -> str:
        return "auto"

    @classmethod
    def kill_all(cls) -> None:
        """Ends every kernel that still runs, from whichever thread."""
        for kernel in cls.started:
            process = getattr(kernel.provisioner, "process", None)
            if process is not None:
                process.kill()
