import Foundation
import NIOConcurrencyHelpers

/// Tells that a file was written to, by whichever process.
///
/// A watch that has told something may be silent until it is armed again, so that a writer that never pauses costs as
/// little as one that writes once.
///
/// `@unchecked`: sources of Dispatch may be used by any thread, and do not say so on Linux; all else is under the lock.
final class FileWatch: @unchecked Sendable {
    private let path: String
    private let onWrite: @Sendable () -> Void
    /// What listens to the kernel, if anything does yet.
    private let state = NIOLockedValueBox<(source: (any DispatchSourceProtocol)?, isCancelled: Bool)>((nil, false))

    /// Creates a watch that is not armed yet; `nil` where the system does not offer this, or has none left.
    ///
    /// - Parameters:
    ///   - path: The file, which may come and go.
    ///   - onWrite: Called, on a thread of the system, after any number of writes since the watch was last armed.
    init?(path: String, onWrite: @escaping @Sendable () -> Void) {
        self.path = path
        self.onWrite = onWrite
        guard begin() else { return nil }
    }

    /// Asks for the next write.
    ///
    /// What was written before may be told or not.
    ///
    /// - Returns: Whether the system will tell.
    @discardableResult
    func arm() -> Bool {
        // Under the lock, so that the descriptor is not closed meanwhile.
        state.withLockedValue { state in !state.isCancelled && arm(&state.source) }
    }

    /// Stops watching.
    ///
    /// Idempotent.
    func cancel() {
        state.withLockedValue { state in
            state.source?.cancel()
            state = (nil, true)
        }
    }

    deinit {
        cancel()
    }
}

#if canImport(Glibc) || canImport(Musl) || canImport(Android)
// A watch of inotify for one event at a time. The kernel drops the watch of the file with its event, so a file that was replaced is found
// again by its path. While there is no file, its directory is watched for a new one.
extension FileWatch {
    private static let fileEvents = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    private static let directoryEvents = IN_CREATE | IN_MOVED_TO
    private static let once = UInt32(1) << 31

    /// - Returns: `false` when the user has no inotify instances left.
    private func begin() -> Bool {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return false }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
        source.setEventHandler { [onWrite] in
            if FileWatch.takeEvents(descriptor) { onWrite() }
        }
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
        state.withLockedValue { $0.source = source }
        return true
    }

    /// - Returns: `false` when the user has no watches left.
    private func arm(_ source: inout (any DispatchSourceProtocol)?) -> Bool {
        guard let source else { return false }
        let descriptor = Int32(source.handle)
        guard unsafe inotify_add_watch(descriptor, path, UInt32(FileWatch.fileEvents) | FileWatch.once) < 0 else {
            return true
        }
        let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        let events = UInt32(FileWatch.directoryEvents) | FileWatch.once
        // A directory that was removed cannot be watched.
        let isWatched = unsafe inotify_add_watch(descriptor, directory.isEmpty ? "/" : String(directory), events) >= 0
        return isWatched || errno == ENOENT
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
// A vnode source of Dispatch, which tells of each write to the file that had the path when it was armed.
extension FileWatch {
    private func begin() -> Bool { true }

    /// - Returns: `false` when the process has no descriptors left.
    private func arm(_ armed: inout (any DispatchSourceProtocol)?) -> Bool {
        var (watched, named) = (Darwin.stat(), Darwin.stat())
        if let armed, unsafe fstat(Int32(armed.handle), &watched) == 0,
            unsafe Darwin.stat(path, &named) == 0, watched.st_ino == named.st_ino, watched.st_dev == named.st_dev
        {
            return true
        }
        armed?.cancel()
        armed = nil
        let descriptor = unsafe open(path, O_EVTONLY)
        guard descriptor >= 0 else { return errno == ENOENT }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor,
            eventMask: [.write, .extend, .delete, .rename, .revoke],
            queue: .global(qos: .utility)
        )
        source.setEventHandler(handler: onWrite)
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
        armed = source
        return true
    }
}
#else
// Nothing of the kind.
extension FileWatch {
    private func begin() -> Bool { false }
    private func arm(_ source: inout (any DispatchSourceProtocol)?) -> Bool { false }
}
#endif
