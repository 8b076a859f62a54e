"""What a synchronisation of training across regions takes: lines, as in `roi/payback.py`.

A ring all-reduce over R regions goes around twice, once to add the gradients up and once to hand out the sum: 2(R-1) times each
region sends 1/R of the gradients to the next (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
workstations, 2009).
"""

from roi.lines import line, maximum
from roi.symbols import Constant

passes = Constant("passes", 2, "1/sync")
bytes_per_gb = Constant("bytes_per_gb", 1_000_000_000, "byte/GB")
gbit_per_gb = Constant("gbit_per_gb", 8, "Gbit/GB")
ms_per_s = Constant("ms_per_s", 1_000, "ms/s")
ways_of_a_round_trip = Constant("ways_of_a_round_trip", 2, "1")


@line("GB", "Size of the gradients")
def gradient_size(parameters, bytes_per_parameter):
    return parameters * bytes_per_parameter / bytes_per_gb


@line("1/sync", "Trips from a region to the next")
def trips(regions):
    return passes * (regions - 1)


@line("GB/sync", "Sent by each region")
def sent_per_sync(trips, gradient_size, regions):
    return trips * gradient_size / regions


@line("ms/sync", "Time on the way")
def trip_time(trips, round_trip):
    return trips * round_trip / ways_of_a_round_trip


@line("ms/sync", "Time of sending")
def sending_time(sent_per_sync, bandwidth):
    return sent_per_sync * gbit_per_gb / bandwidth * ms_per_s


@line("ms/sync", "Time of a synchronisation, less what overlaps with computing")
def sync_time(trip_time, sending_time, overlap):
    return maximum(trip_time + sending_time - overlap, 0)


@line("ms/step", "Time of a synchronisation, spread over its steps")
def sync_time_per_step(sync_time, steps_per_sync):
    return sync_time / steps_per_sync
