import Dispatch

#if canImport(Glibc)
import Glibc
#endif

/// Memory that the process does not use any more.
package enum FreedMemory {
    /// From which size on a block is given back as soon as it is freed: 4 MiB.
    private static let largeBlock: CInt = 4 << 20
    /// How much of the end of a heap, of which there are several, may be free before it is given back: 1 MiB.
    private static let freeEnd: CInt = 1 << 20

    /// Has large blocks given back to the system as soon as they are freed; does nothing without glibc.
    ///
    /// After the first of them, glibc takes blocks of up to 32 MiB from its heaps, and keeps them there: a service that had copied
    /// rows of 10 MB kept 320 to 390 MiB of memory instead of 120. It concerns the whole process, so only one that is nothing but
    /// the service does it, at its start, unless glibc is told by its own variables (mallopt(3)).
    package static func giveBackLargeBlocks() {
        #if canImport(Glibc)
        guard unsafe getenv("MALLOC_MMAP_THRESHOLD_") == nil, unsafe getenv("MALLOC_TRIM_THRESHOLD_") == nil else {
            return
        }
        // `malloc.h` is not in the module; these are its `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD`.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        typealias SetOption = @convention(c) (CInt, CInt) -> CInt
        let set = unsafe unsafeBitCast(symbol, to: SetOption.self)
        _ = set(-3, largeBlock)
        _ = set(-1, freeEnd)
        #endif
    }

    /// Gives it back to the system; does nothing without glibc.
    ///
    /// The allocator of glibc gives back what lies at the end of its heaps, and keeps all that was freed between things in use.
    ///
    /// It may take some tenths of a second for a heap of a gigabyte, on a thread of its own.
    static func giveBack() async {
        #if canImport(Glibc)
        // `malloc.h` is not in the module.
        guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
        typealias Trim = @convention(c) (Int) -> CInt
        let trim = unsafe unsafeBitCast(symbol, to: Trim.self)
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = trim(0)
                continuation.resume()
            }
        }
        #endif
    }
}
