import Foundation

/// The system's limit of open files.
enum OpenFileLimit {
    /// How many files this process may have open; `nil` if the system does not tell.
    static var ofProcess: Int? {
        var files = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        return getrlimit(resource, &files) == 0 ? Int(clamping: files.rlim_cur) : nil
    }
}
