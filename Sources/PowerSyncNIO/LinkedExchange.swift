import PowerSyncHTTP

// Visible in the package, so that an optimised build keeps the symbol.

/// The exchange of the process, retained for the caller: the function that `CPowerSyncNIO.h` declares.
@_cdecl("powersync_nio_exchange") package func linkedExchange() -> UnsafeMutableRawPointer {
    unsafe Unmanaged<AnyObject>.passRetained(NIOExchange.shared).toOpaque()
}
