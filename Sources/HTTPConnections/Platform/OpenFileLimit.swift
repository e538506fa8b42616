import Foundation

/// A limit of open files, as the system has one for each process.
package struct OpenFileLimit: Equatable {
    /// The number of files that the process may have open.
    var current: Int
    /// The number to which the process may raise ``current``.
    var maximum: Int

    /// The limit of this process; `nil` if the system does not tell.
    static var ofProcess: OpenFileLimit? {
        var files = rlimit()
        guard unsafe getrlimit(resource, &files) == 0 else { return nil }
        return OpenFileLimit(current: Int(clamping: files.rlim_cur), maximum: Int(clamping: files.rlim_max))
    }

    /// To what the limit is to be raised, so that a number of files can be open, or as many of them as possible.
    ///
    /// `nil` when it is high enough, or cannot be raised.
    func raised(for count: Int) -> Int? {
        let raised = min(count, maximum)
        return raised > current ? raised : nil
    }

    /// Raises the limit of this process, so that a number of files can be open, or as many of them as possible.
    package static func raise(for count: Int) {
        guard let limit = ofProcess, let raised = limit.raised(for: count) else { return }
        // macOS says that there is no maximum, but may refuse more than 10,240 (`OPEN_MAX`).
        for attempt in [raised, min(raised, 10_240)] where attempt > limit.current {
            var files = rlimit()
            guard unsafe getrlimit(resource, &files) == 0 else { return }
            files.rlim_cur = rlim_t(attempt)
            if unsafe setrlimit(resource, &files) == 0 { return }
        }
    }

    #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
    private static var resource: CInt { RLIMIT_NOFILE }
    #endif
}
