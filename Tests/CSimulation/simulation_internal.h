#include "CSimulation.h"

extern const simulation_callbacks *simulation;

/// Whether this is the thread of a simulation that has begun.
bool simulation_is_active(void);

/// Makes the simulation's files those that SQLite uses by default.
void simulation_register_files(void);

/// Prepares memory at the same addresses in each run.
void simulation_begin_memory(void);

/// Has SQLite take memory that belongs to no process; before anything else of SQLite.
void simulation_register_memory(void);
