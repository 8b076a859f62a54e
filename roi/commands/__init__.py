"""The commands of `roi`, by what they are about; each file is imported only when one of its commands is asked for."""
