#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What this process has used of the processors so far, so that others on the same machine do not count.
struct ProcessUsage {
    /// The time in user code and in the kernel, of all threads.
    var cpu: Duration

    /// What was used until now.
    static var now: ProcessUsage {
        // POSIX: in microseconds, whatever CLOCKS_PER_SEC is defined as.
        ProcessUsage(cpu: .microseconds(Int64(clock())))
    }
}
