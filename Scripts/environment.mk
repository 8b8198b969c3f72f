# Settings that every build of the project shares.

CONFIGURATION ?= release
export CONFIGURATION
# As in Scripts/release: a build with other options would compile everything again.
STATIC = $(if $(filter release,$(CONFIGURATION)),--static-swift-stdlib)
# Every trait of the package is on: the manifest reads it.
export ALL_TRAITS = 1
# SwiftPM 6.3 passes traits to the compiler in hash order, and a different order rebuilds the whole package.
export SWIFT_DETERMINISTIC_HASHING = 1
# Swift Testing 6.3 begins thousands of tests at once otherwise, and a test that waits gets a turn only when all others have
# had theirs.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 16
