"""What PTX instructions compute, written down from the definitions of the ISA in exact arithmetic; makes tests/ptx/rows."""
