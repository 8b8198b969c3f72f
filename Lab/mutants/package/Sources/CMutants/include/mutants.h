#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { mutants_most = 16384 };

extern int32_t mutants_active;
extern uint8_t mutants_reached[mutants_most];

/// Whether this mutation is the one that the process was started with. Notes that it was asked for.
static inline bool mutant(int32_t number) {
    mutants_reached[number] = 1;
    return number == mutants_active;
}
