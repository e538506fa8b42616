// Tasks, queues, clocks and random bytes.

#define _GNU_SOURCE
#include "CSimulation.h"
#include "simulation_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

const simulation_callbacks *simulation = NULL;
static __thread bool is_simulated_thread = false;

bool simulation_is_active(void) { return simulation != NULL && is_simulated_thread; }

/// The definition that this one has taken the place of.
#define REAL(name)                                                                                                     \
    static __typeof__(&name) real = NULL;                                                                              \
    if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "simulation: %s\n", what);
    abort();
}

// MARK: Tasks

typedef struct {
    void *identity;
    uintptr_t implementation;
} executor;

extern __attribute__((swiftcall)) void swift_job_run(void *job, executor executor);
extern __attribute__((swiftcall)) uint64_t swift_task_getJobTaskId(void *job);

static void enqueue_job(void *job, uint64_t time) {
    simulation->enqueue((simulation_work){NULL, job, swift_task_getJobTaskId(job), false}, time);
}

static __attribute__((swiftcall)) void enqueue_global(void *job, void *original) {
    if (!simulation_is_active()) {
        ((__attribute__((swiftcall)) void (*)(void *))original)(job);
        return;
    }
    enqueue_job(job, simulation->now());
}

static __attribute__((swiftcall)) void enqueue_with_delay(uint64_t delay, void *job, void *original) {
    if (!simulation_is_active()) {
        ((__attribute__((swiftcall)) void (*)(uint64_t, void *))original)(delay, job);
        return;
    }
    enqueue_job(job, simulation->now() + delay);
}

static __attribute__((swiftcall)) void enqueue_with_deadline(
    long long seconds, long long nanoseconds, long long tolerance, long long tolerance_nanoseconds, int clock, void *job, void *original
) {
    if (!simulation_is_active()) {
        ((__attribute__((swiftcall)) void (*)(long long, long long, long long, long long, int, void *))original)(
            seconds, nanoseconds, tolerance, tolerance_nanoseconds, clock, job
        );
        return;
    }
    // The clocks of Swift begin with the simulation: clock_gettime below.
    enqueue_job(job, (uint64_t)seconds * 1000000000 + (uint64_t)nanoseconds);
}

static void set_hook(const char *name, void *function) {
    void **hook = dlsym(RTLD_DEFAULT, name);
    if (hook == NULL) give_up(name);
    *hook = function;
}

void simulation_begin(const simulation_callbacks *callbacks) {
    simulation_begin_memory();
    is_simulated_thread = true;
    simulation = callbacks;
    set_hook("swift_task_enqueueGlobal_hook", enqueue_global);
    set_hook("swift_task_enqueueMainExecutor_hook", enqueue_global);
    set_hook("swift_task_enqueueGlobalWithDelay_hook", enqueue_with_delay);
    set_hook("swift_task_enqueueGlobalWithDeadline_hook", enqueue_with_deadline);
    simulation_register_memory();
    simulation_register_files();
}

// MARK: Queues

extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);
extern void dispatch_retain(void *object);
extern void dispatch_release(void *object);
extern void *dispatch_get_global_queue(long identifier, unsigned long flags);
extern char _dispatch_main_q;

typedef void (*queue_function)(void *queue, void *block);

/// The queues whose blocks run now, the innermost last.
static void *running[64];
static int running_count = 0;

bool simulation_is_running(void *queue) {
    for (int index = 0; index < running_count; index++) {
        if (running[index] == queue) return true;
    }
    return false;
}

static void push(void *queue) {
    if (running_count == sizeof(running) / sizeof(running[0])) give_up("too many queues within one another");
    running[running_count++] = queue;
}

static void pop(void) { running_count--; }

static bool is_unordered(void *queue) {
    static void *globals[16];
    static int count = 0;
    if (count == 0) {
        const long identifiers[] = {0x21, 0x19, 0x15, 0x11, 0x09, 0x05, 0x00};
        for (size_t index = 0; index < sizeof(identifiers) / sizeof(identifiers[0]); index++) {
            globals[count++] = dispatch_get_global_queue(identifiers[index], 0);
        }
    }
    for (int index = 0; index < count; index++) {
        if (globals[index] == queue) return true;
    }
    return false;
}

static void call(void *block) {
    struct layout {
        void *isa;
        int flags;
        int reserved;
        void (*invoke)(void *block);
    };
    ((struct layout *)block)->invoke(block);
}

/// A function in place of a block; a pointer to one has its lowest bit set.
typedef struct {
    void *context;
    void (*function)(void *context);
} plain_call;

static void *make_plain_call(void *context, void (*function)(void *)) {
    plain_call *plain = malloc(sizeof(plain_call));
    *plain = (plain_call){context, function};
    return (void *)((uintptr_t)plain | 1);
}

static void enqueue_item(void *queue, void *item, uint64_t time, bool is_timer) {
    dispatch_retain(queue);
    simulation->enqueue((simulation_work){queue, item, 0, !is_timer && !is_unordered(queue)}, time);
}

void dispatch_async(void *queue, void *block) {
    REAL(dispatch_async);
    if (!simulation_is_active()) return real(queue, block);
    enqueue_item(queue, _Block_copy(block), simulation->now(), false);
}

void dispatch_barrier_async(void *queue, void *block) {
    REAL(dispatch_barrier_async);
    if (!simulation_is_active()) return real(queue, block);
    enqueue_item(queue, _Block_copy(block), simulation->now(), false);
}

static void run_synchronously(queue_function real, void *queue, void *block) {
    simulation->finish_blocks(queue);
    push(queue);
    real(queue, block);
    pop();
}

void dispatch_sync(void *queue, void *block) {
    REAL(dispatch_sync);
    if (!simulation_is_active()) return real(queue, block);
    run_synchronously(real, queue, block);
}

void dispatch_barrier_sync(void *queue, void *block) {
    REAL(dispatch_barrier_sync);
    if (!simulation_is_active()) return real(queue, block);
    run_synchronously(real, queue, block);
}

void simulation_run(simulation_work work) {
    REAL(dispatch_sync);
    if (work.queue == NULL) {
        // The generic executor.
        swift_job_run(work.item, (executor){NULL, 0});
        return;
    }
    push(work.queue);
    if (((uintptr_t)work.item & 1) != 0) {
        plain_call *plain = (plain_call *)((uintptr_t)work.item & ~(uintptr_t)1);
        plain->function(plain->context);
        free(plain);
    } else {
        if (work.queue == (void *)&_dispatch_main_q || !work.is_ordered) {
            call(work.item);
        } else {
            real(work.queue, work.item);
        }
        _Block_release(work.item);
    }
    pop();
    dispatch_release(work.queue);
}

/// Waits as long as other blocks can be run.
static long wait_for_others(long (*real)(void *, uint64_t), void *object, uint64_t timeout) {
    if (!simulation_is_active() || timeout == 0) return real(object, timeout);
    while (real(object, 0) != 0) {
        if (!simulation->run_another_block()) give_up("a block waits for what cannot come");
    }
    return 0;
}

long dispatch_semaphore_wait(void *semaphore, uint64_t timeout) {
    REAL(dispatch_semaphore_wait);
    return wait_for_others(real, semaphore, timeout);
}

long dispatch_group_wait(void *group, uint64_t timeout) {
    REAL(dispatch_group_wait);
    return wait_for_others(real, group, timeout);
}

void dispatch_after(uint64_t when, void *queue, void *block) {
    REAL(dispatch_after);
    if (simulation_is_active()) give_up("dispatch_after is not simulated");
    real(when, queue, block);
}

void dispatch_async_f(void *queue, void *context, void (*function)(void *)) {
    REAL(dispatch_async_f);
    if (!simulation_is_active()) return real(queue, context, function);
    enqueue_item(queue, make_plain_call(context, function), simulation->now(), false);
}

/// Swift's clocks sleep with this.
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*function)(void *)) {
    REAL(dispatch_after_f);
    if (!simulation_is_active()) return real(when, queue, context, function);
    const uint64_t monotonic = UINT64_C(1) << 63, wall = UINT64_C(1) << 62;
    uint64_t time = when;
    if ((when & monotonic) != 0) {
        time = (when & wall) != 0 ? (uint64_t)(-(int64_t)when - simulation->wall_clock_offset()) : when & ~monotonic;
    }
    enqueue_item(queue, make_plain_call(context, function), time, true);
}

extern char _dispatch_source_type_timer;

void *dispatch_source_create(void *type, uintptr_t handle, uintptr_t mask, void *queue) {
    REAL(dispatch_source_create);
    if (simulation_is_active() && type == (void *)&_dispatch_source_type_timer) give_up("timers of Dispatch are not simulated");
    return real(type, handle, mask, queue);
}

// MARK: Time

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (simulation_is_active()) {
        int64_t now = (int64_t)simulation->now();
        switch (clock) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
            now += simulation->wall_clock_offset();
            // Fall through.
        case CLOCK_MONOTONIC:
        case CLOCK_MONOTONIC_COARSE:
        case CLOCK_MONOTONIC_RAW:
        case CLOCK_BOOTTIME:
            time->tv_sec = now / 1000000000;
            time->tv_nsec = now % 1000000000;
            return 0;
        default: break;
        }
    }
    REAL(clock_gettime);
    return real(clock, time);
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

int usleep(useconds_t duration) {
    REAL(usleep);
    if (simulation_is_active()) return 0;
    return real(duration);
}

// MARK: Random bytes

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && simulation_is_active()) {
        if (a != 0) simulation->random((void *)a, (size_t)b);
        return b;
    }
    REAL(syscall);
    return real(number, a, b, c, d, e, f);
}

int getentropy(void *bytes, size_t count) {
    REAL(getentropy);
    if (!simulation_is_active()) return real(bytes, count);
    simulation->random(bytes, count);
    return 0;
}

// MARK: Files

// Files are changed by this process only, which need not be told.
int inotify_init1(int flags) {
    REAL(inotify_init1);
    if (!simulation_is_active()) return real(flags);
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

int inotify_add_watch(int descriptor, const char *path, uint32_t mask) {
    REAL(inotify_add_watch);
    if (!simulation_is_active()) return real(descriptor, path, mask);
    return 1;
}

// What SQLite syncs is noted by its files.
int fsync(int descriptor) {
    REAL(fsync);
    return simulation_is_active() ? 0 : real(descriptor);
}

int fdatasync(int descriptor) {
    REAL(fdatasync);
    return simulation_is_active() ? 0 : real(descriptor);
}

// MARK: Records

static int record = -1;
static char record_buffer[1 << 16];
static size_t record_length = 0;

bool simulation_record_to(const char *path) {
    record = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return record >= 0;
}

void simulation_record(uint64_t step, uint64_t time, uint64_t process, uint64_t work) {
    if (record < 0) return;
    if (sizeof(record_buffer) - record_length < 128) simulation_end_record();
    int length = snprintf(
        record_buffer + record_length, 128, "%" PRIu64 " at %" PRIu64 " ns: process %" PRIu64 ", work %" PRIu64 "\n", step, time,
        process, work
    );
    if (length > 0) record_length += (size_t)length;
}

void simulation_end_record(void) {
    for (size_t written = 0; written < record_length;) {
        ssize_t count = write(record, record_buffer + written, record_length - written);
        if (count <= 0) break;
        written += (size_t)count;
    }
    record_length = 0;
}

// MARK: The process

void simulation_restart_deterministic(char **arguments) {
    int present = personality(0xffffffff);
    const char *hashing = getenv("SWIFT_DETERMINISTIC_HASHING");
    if (hashing != NULL && (present == -1 || (present & ADDR_NO_RANDOMIZE) != 0)) return;
    if (hashing != NULL && getenv("SIMULATION_RESTARTED") != NULL) return;
    setenv("SIMULATION_RESTARTED", "1", 1);
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
    if (present != -1) personality(present | ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", arguments);
    give_up("the process cannot be started again");
}
