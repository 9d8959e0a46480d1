"""Values that programs compute with: arrays, numbers, structures, tracers, and their memory."""
