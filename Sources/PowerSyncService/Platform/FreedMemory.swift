import Dispatch

#if canImport(Glibc)
import Glibc
#endif

/// Memory that the process does not use any more.
enum FreedMemory {
    /// Gives it back to the system; does nothing without glibc.
    ///
    /// The allocator of glibc gives back what lies at the end of its heaps, and keeps all that was freed between things in use.
    ///
    /// It may take some tenths of a second for a heap of a gigabyte, on a thread of its own.
    static func giveBack() async {
        #if canImport(Glibc)
        // `malloc.h` is not in the module.
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        typealias Trim = @convention(c) (Int) -> CInt
        let trim = unsafeBitCast(symbol, to: Trim.self)
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = trim(0)
                continuation.resume()
            }
        }
        #endif
    }
}
