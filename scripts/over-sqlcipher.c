/* Loaded before the tests that scripts/test-sqlite runs over SQLCipher.
 *
 * With POWERSYNC_KEYED_FILES, each file that is opened in the process gets a key, whichever code opens it: before its opener has the
 * connection, so that nothing is read without it.
 *
 * In any case the process ends without the clean-up of libraries: SQLCipher frees its memory there, which connections that are being
 * closed on other threads still use.
 */
#define _DEFAULT_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of SQLCipher, which is loaded in the place of SQLite; the shells that start the tests have neither. */
extern int sqlite3_auto_extension(void (*entry)(void)) __attribute__((weak));
extern int sqlite3_exec(void *connection, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **message)
    __attribute__((weak));

static int set_key(void *connection, char **message, const void *api) {
    (void)message;
    (void)api;
    /* Bytes are used as they are: deriving a key takes a second for each connection. */
    return sqlite3_exec(connection, "PRAGMA key = \"x'3031323334353637383961626364656630313233343536373839616263646566'\"",
                        NULL, NULL, NULL);
}

static void leave(int status, void *context) {
    (void)context;
    fflush(NULL);
    _exit(status);
}

__attribute__((constructor)) static void begin(void) {
    if (!sqlite3_auto_extension) return;
    if (getenv("POWERSYNC_KEYED_FILES")) sqlite3_auto_extension((void (*)(void))set_key);
    /* The last one that is registered is the first that runs. */
    on_exit(leave, NULL);
}
