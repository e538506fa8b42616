import Foundation

#if canImport(Glibc) || canImport(Musl) || canImport(Android)
/// A watch of inotify for one event at a time.
///
/// The kernel drops the watch of the file with its event, so a file that was replaced is found again by its path. While
/// there is no file, its directory is watched for a new one.
///
/// `@unchecked`: sources of Dispatch may be used by any thread, and do not say so on Linux.
struct KernelWatch: @unchecked Sendable {
    private static let fileEvents = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    private static let directoryEvents = IN_CREATE | IN_MOVED_TO
    private static let once = UInt32(1) << 31

    private let descriptor: Int32
    private let source: any DispatchSourceRead

    /// `nil` when the user has no inotify instances left.
    init?(onChange: @escaping @Sendable () -> Void) {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
        source.setEventHandler {
            if KernelWatch.takeEvents(descriptor) { onChange() }
        }
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
    }

    /// - Returns: `false` when the user has no watches left.
    func arm(_ path: String) -> Bool {
        guard unsafe inotify_add_watch(descriptor, path, UInt32(KernelWatch.fileEvents) | KernelWatch.once) < 0 else {
            return true
        }
        let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        let events = UInt32(KernelWatch.directoryEvents) | KernelWatch.once
        // A directory that was removed cannot be watched.
        let isWatched = unsafe inotify_add_watch(descriptor, directory.isEmpty ? "/" : String(directory), events) >= 0
        return isWatched || errno == ENOENT
    }

    func cancel() {
        source.cancel()
    }

    /// Empties the kernel's queue.
    ///
    /// - Returns: Whether it held more than the news that a watch has ended.
    private static func takeEvents(_ descriptor: Int32) -> Bool {
        var hasChanged = false
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while true {
                let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                // The kernel hands out whole events: a header and `len` bytes of name.
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = unsafe buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    if event.mask & UInt32(IN_IGNORED) == 0 { hasChanged = true }
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                }
            }
        }
        return hasChanged
    }
}
#elseif canImport(Darwin)
/// A vnode source of Dispatch, which tells of each write to the file that had the path when it was armed.
///
/// `@unchecked`: everything is called under the lock of the ``FileWatch``.
final class KernelWatch: @unchecked Sendable {
    private let onChange: @Sendable () -> Void
    private var source: (any DispatchSourceFileSystemObject)?

    init?(onChange: @escaping @Sendable () -> Void) {
        self.onChange = onChange
    }

    /// - Returns: `false` when the process has no descriptors left.
    func arm(_ path: String) -> Bool {
        var (watched, named) = (Darwin.stat(), Darwin.stat())
        if let source, unsafe fstat(Int32(source.handle), &watched) == 0,
            unsafe Darwin.stat(path, &named) == 0, watched.st_ino == named.st_ino, watched.st_dev == named.st_dev
        {
            return true
        }
        cancel()
        let descriptor = unsafe open(path, O_EVTONLY)
        guard descriptor >= 0 else { return errno == ENOENT }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor,
            eventMask: [.write, .extend, .delete, .rename, .revoke],
            queue: .global(qos: .utility)
        )
        source.setEventHandler(handler: onChange)
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
        self.source = source
        return true
    }

    func cancel() {
        source?.cancel()
        source = nil
    }
}
#else
/// Nothing of the kind.
struct KernelWatch: Sendable {
    init?(onChange: @escaping @Sendable () -> Void) { return nil }
    func arm(_ path: String) -> Bool { false }
    func cancel() {}
}
#endif
