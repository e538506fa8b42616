// The files of SQLite: those of the system, whose changes the simulation may forbid.

#include "CSimulation.h"
#include "simulation_internal.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    sqlite3_file base;
    sqlite3_file *real;
} simulated_file;

static sqlite3_vfs *system_files;

#define REAL_FILE(file) (((simulated_file *)(file))->real)

static int file_close(sqlite3_file *file) { return REAL_FILE(file)->pMethods->xClose(REAL_FILE(file)); }
static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return REAL_FILE(file)->pMethods->xRead(REAL_FILE(file), bytes, count, offset);
}
static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    int refusal = simulation->will_change_file('w');
    return refusal != SQLITE_OK ? refusal : REAL_FILE(file)->pMethods->xWrite(REAL_FILE(file), bytes, count, offset);
}
static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int refusal = simulation->will_change_file('t');
    return refusal != SQLITE_OK ? refusal : REAL_FILE(file)->pMethods->xTruncate(REAL_FILE(file), size);
}
static int file_sync(sqlite3_file *file, int flags) {
    (void)file;
    (void)flags;
    return simulation->will_change_file('s');
}
static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return REAL_FILE(file)->pMethods->xFileSize(REAL_FILE(file), size);
}
static int file_lock(sqlite3_file *file, int lock) { return REAL_FILE(file)->pMethods->xLock(REAL_FILE(file), lock); }
static int file_unlock(sqlite3_file *file, int lock) { return REAL_FILE(file)->pMethods->xUnlock(REAL_FILE(file), lock); }
static int file_check_lock(sqlite3_file *file, int *result) {
    return REAL_FILE(file)->pMethods->xCheckReservedLock(REAL_FILE(file), result);
}
static int file_control(sqlite3_file *file, int operation, void *argument) {
    return REAL_FILE(file)->pMethods->xFileControl(REAL_FILE(file), operation, argument);
}
static int file_sector_size(sqlite3_file *file) { return REAL_FILE(file)->pMethods->xSectorSize(REAL_FILE(file)); }
static int file_characteristics(sqlite3_file *file) {
    return REAL_FILE(file)->pMethods->xDeviceCharacteristics(REAL_FILE(file));
}
static int file_map_memory(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    return REAL_FILE(file)->pMethods->xShmMap(REAL_FILE(file), page, size, extend, memory);
}
static int file_lock_memory(sqlite3_file *file, int offset, int count, int flags) {
    return REAL_FILE(file)->pMethods->xShmLock(REAL_FILE(file), offset, count, flags);
}
static void file_order_memory(sqlite3_file *file) { REAL_FILE(file)->pMethods->xShmBarrier(REAL_FILE(file)); }
static int file_unmap_memory(sqlite3_file *file, int deletes) {
    return REAL_FILE(file)->pMethods->xShmUnmap(REAL_FILE(file), deletes);
}
static int file_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **memory) {
    return REAL_FILE(file)->pMethods->xFetch(REAL_FILE(file), offset, count, memory);
}
static int file_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *memory) {
    return REAL_FILE(file)->pMethods->xUnfetch(REAL_FILE(file), offset, memory);
}

static const sqlite3_io_methods methods = {
    3, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock, file_check_lock,
    file_control, file_sector_size, file_characteristics, file_map_memory, file_lock_memory, file_order_memory,
    file_unmap_memory, file_fetch, file_unfetch,
};

static int files_open(sqlite3_vfs *files, const char *path, sqlite3_file *file, int flags, int *opened_flags) {
    (void)files;
    simulated_file *simulated = (simulated_file *)file;
    simulated->base.pMethods = NULL;
    simulated->real = (sqlite3_file *)(simulated + 1);
    int result = system_files->xOpen(system_files, path, simulated->real, flags, opened_flags);
    if (simulated->real->pMethods != NULL) simulated->base.pMethods = &methods;
    return result;
}

static int files_delete(sqlite3_vfs *files, const char *path, int syncs) {
    (void)files;
    int refusal = simulation->will_change_file('d');
    return refusal != SQLITE_OK ? refusal : system_files->xDelete(system_files, path, syncs);
}

void simulation_register_files(void) {
    static sqlite3_vfs files;
    sqlite3_initialize();
    system_files = sqlite3_vfs_find(NULL);
    files = *system_files;
    files.zName = "simulation";
    files.szOsFile = (int)sizeof(simulated_file) + system_files->szOsFile;
    files.pNext = NULL;
    files.xOpen = files_open;
    files.xDelete = files_delete;
    sqlite3_vfs_register(&files, 1);
}

void simulation_seed_sqlite(uint32_t seed) { sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)seed, NULL); }
