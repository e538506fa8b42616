#ifndef C_POWERSYNC_NIO_H
#define C_POWERSYNC_NIO_H

/// The exchange of the process that sends requests with AsyncHTTPClient: an object of Swift with the protocol `HTTPExchange`, retained
/// for the caller.
///
/// The Swift module `PowerSyncNIO` has it. A Swift module that imports another one makes its members, and those of all that it imports, visible
/// to every file of an app; a C function makes nothing visible.
void *_Nonnull powersync_nio_exchange(void);

#endif
