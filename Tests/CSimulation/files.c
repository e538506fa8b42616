// The files of SQLite: those of the system, whose changes the simulation may forbid.
//
// What was written since a file was synced last is noted, with what was there before: a machine that loses its power may lose each of
// these writes. That a file was truncated or deleted is never lost, nor what was written before.

#define _GNU_SOURCE
#include "CSimulation.h"
#include "simulation_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// A write that the disk need not have yet.
typedef struct pending_write {
    struct pending_write *earlier;
    sqlite3_int64 offset;
    /// How large the file was before.
    sqlite3_int64 former_size;
    int count;
    /// The bytes that were there before, then those that were written.
    char bytes[];
} pending_write;

/// What has a path, for all that have opened it.
typedef struct written_file {
    struct written_file *next;
    pending_write *last;
    char path[];
} written_file;

typedef struct {
    sqlite3_file base;
    sqlite3_file *real;
    /// NULL for a file without a name.
    written_file *written;
} simulated_file;

static written_file *written_files[1024];

static written_file **find_written(const char *path) {
    uint32_t hash = 5381;
    for (const char *byte = path; *byte != 0; byte++) hash = hash * 33 + (unsigned char)*byte;
    written_file **place = &written_files[hash % (sizeof(written_files) / sizeof(written_files[0]))];
    while (*place != NULL && strcmp((*place)->path, path) != 0) place = &(*place)->next;
    return place;
}

/// The notes about a path, made when there are none.
static written_file *written_at(const char *path) {
    written_file **place = find_written(path);
    if (*place == NULL) {
        uint32_t owner = simulation_set_owner(0);
        *place = calloc(1, sizeof(written_file) + strlen(path) + 1);
        simulation_set_owner(owner);
        strcpy((*place)->path, path);
    }
    return *place;
}

/// The disk has everything of a file.
static void forget_writes(written_file *written) {
    if (written == NULL) return;
    while (written->last != NULL) {
        pending_write *last = written->last;
        written->last = last->earlier;
        free(last);
    }
}

static void note_write(simulated_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_int64 size = 0;
    if (file->written == NULL || file->real->pMethods->xFileSize(file->real, &size) != SQLITE_OK) return;
    uint32_t owner = simulation_set_owner(0);
    pending_write *write = malloc(sizeof(pending_write) + 2 * (size_t)count);
    simulation_set_owner(owner);
    write->earlier = file->written->last;
    write->offset = offset;
    write->former_size = size;
    write->count = count;
    // Zeros after the end.
    file->real->pMethods->xRead(file->real, write->bytes, count, offset);
    memcpy(write->bytes + count, bytes, (size_t)count);
    file->written->last = write;
}

static sqlite3_vfs *system_files;

#define REAL_FILE(file) (((simulated_file *)(file))->real)

static int file_close(sqlite3_file *file) { return REAL_FILE(file)->pMethods->xClose(REAL_FILE(file)); }
static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return REAL_FILE(file)->pMethods->xRead(REAL_FILE(file), bytes, count, offset);
}
static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    int refusal = simulation->will_change_file('w');
    if (refusal != SQLITE_OK) return refusal;
    note_write((simulated_file *)file, bytes, count, offset);
    return REAL_FILE(file)->pMethods->xWrite(REAL_FILE(file), bytes, count, offset);
}
static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int refusal = simulation->will_change_file('t');
    if (refusal == SQLITE_OK) forget_writes(((simulated_file *)file)->written);
    return refusal != SQLITE_OK ? refusal : REAL_FILE(file)->pMethods->xTruncate(REAL_FILE(file), size);
}
static int file_sync(sqlite3_file *file, int flags) {
    (void)flags;
    int refusal = simulation->will_change_file('s');
    if (refusal == SQLITE_OK) forget_writes(((simulated_file *)file)->written);
    return refusal;
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
    simulated->written = NULL;
    int result = system_files->xOpen(system_files, path, simulated->real, flags, opened_flags);
    if (simulated->real->pMethods != NULL) simulated->base.pMethods = &methods;
    if (result == SQLITE_OK && path != NULL) simulated->written = written_at(path);
    return result;
}

static int files_delete(sqlite3_vfs *files, const char *path, int syncs) {
    (void)files;
    int refusal = simulation->will_change_file('d');
    if (refusal != SQLITE_OK) return refusal;
    forget_writes(*find_written(path));
    return system_files->xDelete(system_files, path, syncs);
}

static bool put_back(int descriptor, const char *bytes, int count, sqlite3_int64 offset, sqlite3_int64 size) {
    sqlite3_int64 end = offset + count < size ? offset + count : size;
    if (end > offset && pwrite(descriptor, bytes, (size_t)(end - offset), offset) != end - offset) return false;
    return ftruncate(descriptor, size) == 0;
}

/// Makes the writes again that were not lost, the earliest first.
static bool repeat(int descriptor, const pending_write *write, bool (*is_lost)(void *context), void *context) {
    if (write == NULL) return true;
    if (!repeat(descriptor, write->earlier, is_lost, context)) return false;
    if (is_lost(context)) return true;
    return pwrite(descriptor, write->bytes + write->count, (size_t)write->count, write->offset) == write->count;
}

int simulation_lose_writes(const char *path, const char *copy, bool (*is_lost)(void *context), void *context) {
    written_file *written = *find_written(path);
    if (written == NULL || written->last == NULL) return 0;
    int descriptor = open(copy, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return errno == ENOENT ? 0 : -1;
    bool is_well = true;
    int count = 0;
    for (pending_write *write = written->last; write != NULL && is_well; write = write->earlier) {
        is_well = put_back(descriptor, write->bytes, write->count, write->offset, write->former_size);
        count++;
    }
    is_well = is_well && repeat(descriptor, written->last, is_lost, context);
    close(descriptor);
    return is_well ? count : -1;
}

void simulation_forget_writes(const char *path) { forget_writes(*find_written(path)); }

void simulation_move_writes(const char *path, const char *copy) {
    written_file *from = *find_written(path);
    if (from == NULL || from->last == NULL) return;
    written_file *to = written_at(copy);
    forget_writes(to);
    to->last = from->last;
    from->last = NULL;
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
