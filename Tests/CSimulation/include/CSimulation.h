#ifndef C_SIMULATION_H
#define C_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Takes the place of what a process gets from the system and from the runtime of Swift: tasks, queues of Dispatch, clocks, random bytes,
// and SQLite's files. Linux only: symbols that an executable defines come before those of the libraries that it loads.
//
// Nothing changes before simulation_begin is called. From then on, everything happens on the thread that has called it.

/// What is to be run later, with simulation_run.
typedef struct {
    /// The queue of Dispatch; NULL for a job of a task.
    void *queue;
    /// A job, a block, or a function and its context.
    void *item;
    /// The number of the task of a job; 0 for others.
    uint64_t task;
    /// Whether it comes after what was given to the same queue before.
    bool is_ordered;
} simulation_work;

/// What a simulation does in place of the system.
typedef struct {
    /// Work is to be run at a time, in nanoseconds of the simulation, or later.
    void (*enqueue)(simulation_work work, uint64_t time);
    /// A thread would wait for other blocks: run one of those that no block which runs now is in the way of.
    ///
    /// Returns false when there is none.
    bool (*run_another_block)(void);
    /// Blocks of this queue that were given before are to be run now: its caller has a synchronous one.
    void (*finish_blocks)(void *queue);
    /// Nanoseconds since the simulation has begun.
    uint64_t (*now)(void);
    /// Nanoseconds from 1970 to the beginning of the simulation, by the clock of the process that runs.
    int64_t (*wall_clock_offset)(void);
    /// Fills memory with random bytes.
    void (*random)(void *bytes, size_t count);
    /// A file of SQLite is about to be changed: the extended result code, 0 (SQLITE_OK) to let it happen.
    ///
    /// `kind`: 'w' write, 's' sync, 't' truncate, 'd' delete.
    int (*will_change_file)(int kind);
} simulation_callbacks;

/// Begins. The callbacks stay as long as the process.
void simulation_begin(const simulation_callbacks *callbacks);

/// Runs a job until its task waits, or a block on its queue.
void simulation_run(simulation_work work);

/// Whether a block of this queue runs now, or a block that it waits for.
bool simulation_is_running(void *queue);

/// Says to which process memory belongs that is taken from now on, by its number.
///
/// Returns the process before.
uint32_t simulation_set_owner(uint32_t owner);

/// How many bytes belong to a process, without what SQLite has.
int64_t simulation_memory_of(uint32_t owner);

/// Loses writes that a file's last sync did not have, in a copy of the file.
///
/// Of each of them, the earliest first, `is_lost` decides. A write that comes after a lost one may be kept, as on a disk.
/// Returns how many writes there were, or -1 when the copy cannot be changed.
int simulation_lose_writes(const char *path, const char *copy, bool (*is_lost)(void *context), void *context);

/// Lets a copy of a file go on as the file: what its last sync did not have may still be lost.
void simulation_move_writes(const char *path, const char *copy);

/// Forgets what was written to a file that nobody uses any more.
void simulation_forget_writes(const char *path);

/// Has ``simulation_record`` write to a file.
///
/// Returns whether it can.
bool simulation_record_to(const char *path);

/// Writes a line with numbers, without asking for memory: a run that is recorded is the same as one that is not.
void simulation_record(uint64_t step, uint64_t time, uint64_t process, uint64_t work);

/// Writes what is left.
void simulation_end_record(void);

/// Has SQLite's own random numbers begin anew.
void simulation_seed_sqlite(uint32_t seed);

/// Sets the environment that makes runs equal, and begins the process again when it has another one.
///
/// The order of Swift's sets and dictionaries, and the addresses of memory.
void simulation_restart_deterministic(char **arguments);

#endif
