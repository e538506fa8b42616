/* Loaded before the tests that scripts/test-sqlite runs over SQLCipher.
 *
 * With POWERSYNC_KEYED_FILES, each file that is opened in the process gets a key, whichever code opens it: before its opener has the
 * connection, so that nothing is read without it.
 *
 * In any case the process ends without the clean-up of libraries: SQLCipher and OpenSSL free their memory there, which connections that
 * are being closed on other threads still use. Of the functions that are called at the end, the last one that was registered is the
 * first. So the one that leaves is registered when all others are: those of the libraries when they are loaded, which is before the first
 * file is opened, and OpenSSL's when it is used first, for which it is asked here.
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of SQLCipher, which is loaded in the place of SQLite, and of its OpenSSL; the shells that start the tests have neither. */
extern int sqlite3_auto_extension(void (*entry)(void)) __attribute__((weak));
extern int sqlite3_exec(void *connection, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **message)
    __attribute__((weak));
extern int OPENSSL_init_crypto(uint64_t options, const void *settings) __attribute__((weak));

static void leave(int status, void *context) {
    (void)context;
    fflush(NULL);
    _exit(status);
}

static void prepare_to_leave(void) {
    if (OPENSSL_init_crypto) OPENSSL_init_crypto(0, NULL);
    on_exit(leave, NULL);
}

static int opened(void *connection, char **message, const void *api) {
    (void)message;
    (void)api;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_to_leave);
    if (!getenv("POWERSYNC_KEYED_FILES")) return 0;
    /* Bytes are used as they are: deriving a key takes a second for each connection. */
    return sqlite3_exec(connection, "PRAGMA key = \"x'3031323334353637383961626364656630313233343536373839616263646566'\"",
                        NULL, NULL, NULL);
}

__attribute__((constructor)) static void begin(void) {
    if (sqlite3_auto_extension) sqlite3_auto_extension((void (*)(void))opened);
}
