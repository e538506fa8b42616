extension HTTPTransport {
    /// The name of the operating system.
    static var systemName: String {
        #if os(macOS)
        "macOS"
        #elseif os(iOS)
        "iOS"
        #elseif os(tvOS)
        "tvOS"
        #elseif os(visionOS)
        "visionOS"
        #elseif os(watchOS)
        "watchOS"
        #elseif os(Linux)
        "linux"
        #else
        "unknown"
        #endif
    }
}
