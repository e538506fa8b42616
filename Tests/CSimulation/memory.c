// Memory at the same addresses in each run, which decide about the order of sets and dictionaries of objects.
//
// A region at a fixed address consists of chunks of 64 KiB. A chunk has blocks of one size, or is a part of a larger block; blocks that are
// freed are used again, the last one first. Only the simulated thread gets memory from it. What other threads free of it is lost.
//
// Each block belongs to the process of the simulation that has asked for it; what a process has is counted.

#define _GNU_SOURCE
#include "simulation_internal.h"

#include <errno.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

#define CHUNK_SIZE ((size_t)1 << 16)
#define CHUNK_COUNT ((size_t)1 << 20)
#define REGION_SIZE (CHUNK_SIZE * CHUNK_COUNT)

/// Blocks of up to 1 KiB have a multiple of 16 bytes, those of up to 32 KiB a power of two.
#define SMALL_CLASSES 64
#define CLASSES (SMALL_CLASSES + 5)

/// The owner of each 16 bytes that begin a block.
static uint16_t *owners;
/// How many bytes each owner has.
static int64_t live_bytes[1 << 16];
/// Who asks for memory now.
static uint16_t present_owner = 0;
/// SQLite: its caches grow to a limit of their own, with what is read.
static const uint16_t owner_sqlite = UINT16_MAX;

typedef struct free_block {
    struct free_block *next;
} free_block;

static char *region = NULL;
/// Of each chunk that begins a block or has several: the size of its blocks.
static size_t *block_sizes;
static size_t used_chunks = 0;
static free_block *free_blocks[CLASSES];
/// Freed blocks of several chunks, by the number of chunks; those of more are not used again.
static free_block *free_spans[256];

static size_t class_of(size_t size) {
    if (size <= 1024) return size == 0 ? 0 : (size - 1) / 16;
    size_t class = SMALL_CLASSES, limit = 2048;
    while (size > limit) {
        class++;
        limit *= 2;
    }
    return class;
}

static size_t size_of(size_t class) {
    return class < SMALL_CLASSES ? (class + 1) * 16 : (size_t)2048 << (class - SMALL_CLASSES);
}

static void *map(void *address, size_t size, int flags) {
    void *mapped = mmap(address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void simulation_begin_memory(void) {
    block_sizes = map(NULL, CHUNK_COUNT * sizeof(size_t), 0);
    owners = map(NULL, REGION_SIZE / 16 * sizeof(uint16_t), 0);
    region = map((void *)0x200000000000, REGION_SIZE, MAP_FIXED_NOREPLACE);
    if (block_sizes == NULL || owners == NULL || region == NULL) abort();
}

uint32_t simulation_set_owner(uint32_t owner) {
    uint16_t former = present_owner;
    present_owner = owner < owner_sqlite ? (uint16_t)owner : owner_sqlite - 1;
    return former;
}

int64_t simulation_memory_of(uint32_t owner) { return owner < owner_sqlite ? live_bytes[owner] : 0; }

static size_t take_chunks(size_t count) {
    size_t first = used_chunks;
    used_chunks += count;
    if (used_chunks > CHUNK_COUNT) abort();
    return first;
}

static void *find_block(size_t size) {
    if (size > 32768) {
        size_t count = (size + CHUNK_SIZE - 1) / CHUNK_SIZE;
        if (count < sizeof(free_spans) / sizeof(free_spans[0]) && free_spans[count] != NULL) {
            free_block *block = free_spans[count];
            free_spans[count] = block->next;
            return block;
        }
        size_t first = take_chunks(count);
        block_sizes[first] = count * CHUNK_SIZE;
        return region + first * CHUNK_SIZE;
    }
    size_t class = class_of(size);
    if (free_blocks[class] == NULL) {
        size_t first = take_chunks(1);
        size_t block_size = size_of(class);
        block_sizes[first] = block_size;
        char *chunk = region + first * CHUNK_SIZE;
        for (size_t offset = CHUNK_SIZE / block_size * block_size; offset > 0; offset -= block_size) {
            free_block *block = (free_block *)(chunk + offset - block_size);
            block->next = free_blocks[class];
            free_blocks[class] = block;
        }
    }
    free_block *block = free_blocks[class];
    free_blocks[class] = block->next;
    return block;
}

static uint16_t *owner_of(const void *block) { return &owners[(size_t)((const char *)block - region) / 16]; }

static size_t size_of_block(const void *block) { return block_sizes[(size_t)((const char *)block - region) / CHUNK_SIZE]; }

static void *allocate(size_t size) {
    void *block = find_block(size);
    *owner_of(block) = present_owner;
    live_bytes[present_owner] += (int64_t)size_of_block(block);
    return block;
}

static bool is_own(const void *block) {
    return region != NULL && (const char *)block >= region && (const char *)block < region + REGION_SIZE;
}

static void release(void *block) {
    if (!simulation_is_active()) return;
    size_t size = size_of_block(block);
    live_bytes[*owner_of(block)] -= (int64_t)size;
    free_block **list;
    if (size > 32768) {
        size_t count = size / CHUNK_SIZE;
        if (count >= sizeof(free_spans) / sizeof(free_spans[0])) {
            madvise(block, size, MADV_DONTNEED);
            return;
        }
        list = &free_spans[count];
    } else {
        list = &free_blocks[class_of(size)];
    }
    ((free_block *)block)->next = *list;
    *list = block;
}

void *malloc(size_t size) { return simulation_is_active() ? allocate(size) : __libc_malloc(size); }

void free(void *block) {
    if (is_own(block)) release(block);
    else __libc_free(block);
}

void *calloc(size_t count, size_t size) {
    if (!simulation_is_active()) return __libc_calloc(count, size);
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return memset(allocate(total), 0, total);
}

void *realloc(void *block, size_t size) {
    if (block == NULL) return malloc(size);
    if (!is_own(block)) return __libc_realloc(block, size);
    size_t old = size_of_block(block);
    if (size <= old && size > old / 2) return block;
    void *copy = malloc(size);
    memcpy(copy, block, old < size ? old : size);
    release(block);
    return copy;
}

void *memalign(size_t alignment, size_t size) {
    if (!simulation_is_active() || alignment > CHUNK_SIZE) return __libc_memalign(alignment, size);
    // Blocks of a power of two are aligned to their size.
    size_t rounded = 16;
    while (rounded < size || rounded < alignment) rounded *= 2;
    return allocate(rounded);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

size_t malloc_usable_size(void *block) {
    if (block == NULL) return 0;
    if (is_own(block)) return size_of_block(block);
    // The size is in the word before the block, with three bits of flags; one word of it is the header.
    return (((size_t *)block)[-1] & ~(size_t)7) - sizeof(size_t);
}

// MARK: SQLite

static void *sqlite_malloc(int size) {
    uint16_t former = present_owner;
    present_owner = owner_sqlite;
    void *block = malloc((size_t)size);
    present_owner = former;
    return block;
}

static void *sqlite_realloc(void *block, int size) {
    uint16_t former = present_owner;
    present_owner = owner_sqlite;
    void *moved = realloc(block, (size_t)size);
    present_owner = former;
    return moved;
}

static int sqlite_size(void *block) { return block == NULL ? 0 : (int)malloc_usable_size(block); }
static int sqlite_round_up(int size) { return (size + 7) & ~7; }
static int sqlite_begin(void *context) {
    (void)context;
    return SQLITE_OK;
}
static void sqlite_end(void *context) { (void)context; }

void simulation_register_memory(void) {
    static const sqlite3_mem_methods methods = {
        sqlite_malloc, free, sqlite_realloc, sqlite_size, sqlite_round_up, sqlite_begin, sqlite_end, NULL,
    };
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) abort();
}
