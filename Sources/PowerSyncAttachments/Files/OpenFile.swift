import Foundation
import PowerSyncClient
import PowerSyncSQLite

/// A file descriptor, closed with the last reference.
///
/// All methods block. Errors are ``PowerSyncAttachmentError/fileNotFound(_:)`` and
/// ``PowerSyncAttachmentError/ioError(_:)`` with a `POSIXError`.
final class OpenFile: Sendable {
    /// What a file is opened for.
    enum Purpose {
        /// Reading; the file must exist.
        case reading
        /// Writing; the file must not exist.
        case creating
        /// Writing into an existing file, or a new one.
        case continuing

        fileprivate var flags: CInt {
            switch self {
            case .reading: O_RDONLY
            case .creating: O_WRONLY | O_CREAT | O_EXCL
            case .continuing: O_RDWR | O_CREAT
            }
        }
    }

    let path: String
    private let descriptor: CInt

    init(_ path: String, for purpose: Purpose) throws {
        self.path = path
        descriptor = try retrying(path) { unsafe open(path, purpose.flags | O_CLOEXEC, PrivateFiles.fileMode) }
    }

    deinit {
        close(descriptor)
    }

    /// What the system says about the file.
    ///
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)`` also when this is not a regular file.
    func attributes() throws -> Attributes {
        var status = stat()
        try retrying(path) { unsafe fstat(descriptor, &status) }
        guard status.isRegular else { throw PowerSyncAttachmentError.ioError(POSIXError(.EISDIR)) }
        return status.attributes
    }

    /// The size in bytes.
    ///
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)`` also when this is not a regular file.
    func size() throws -> Int64 {
        try attributes().size
    }

    /// The next bytes; empty at the end of the file.
    func read(upTo count: Int) throws -> Data {
        var data = Data(count: count)
        let length = try unsafe data.withUnsafeMutableBytes { buffer in
            try unsafe read(into: buffer)
        }
        data.removeLast(count - length)
        return data
    }

    /// Reads the next bytes.
    ///
    /// - Returns: How many; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try retrying(path) { unsafe systemRead(descriptor, buffer.baseAddress, buffer.count) }
    }

    /// The bytes at an offset; fewer, or none, at the end of the file.
    func read(at offset: Int64, upTo count: Int) throws -> Data {
        var data = Data(count: count)
        let length = try unsafe data.withUnsafeMutableBytes { try unsafe read(at: offset, into: $0) }
        data.removeLast(count - length)
        return data
    }

    /// Reads the bytes at an offset; the present position does not matter.
    ///
    /// - Parameters:
    ///   - offset: Where the first byte is.
    ///   - buffer: Where the bytes go.
    /// - Returns: How many; 0 at the end of the file.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try retrying(path) { unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Writes all bytes at the present position.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
            let count = try retrying(path) { unsafe systemWrite(descriptor, part.baseAddress, part.count) }
            unsafe rest = rest.dropFirst(count)
        }
    }

    /// Writes all bytes at the present position.
    func write(_ data: Data) throws {
        try unsafe data.withUnsafeBytes { try unsafe write($0) }
    }

    /// Cuts the file off and goes to its end.
    func truncate(to size: Int64) throws {
        try retrying(path) { ftruncate(descriptor, off_t(size)) }
        _ = try retrying(path) { Int(lseek(descriptor, 0, SEEK_END)) }
    }

    /// Waits until the content is on the disk.
    func synchronize() throws {
        try retrying(path) { fsync(descriptor) }
    }

    /// Takes the lock of the file, without waiting.
    ///
    /// One descriptor at a time has it, of all processes. It goes with the descriptor, however the process ends. Where the file
    /// system has no locks, every caller gets it.
    ///
    /// - Returns: Whether it has no other owner.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    func lock() throws -> Bool {
        do {
            try retrying(path) { flock(descriptor, LOCK_EX | LOCK_NB) }
            return true
        } catch PowerSyncAttachmentError.ioError(let error as POSIXError) {
            switch error.code.rawValue {
            case EWOULDBLOCK: return false
            case ENOTSUP, EOPNOTSUPP, ENOSYS, ENOLCK: return true
            default: throw PowerSyncAttachmentError.ioError(error)
            }
        }
    }

    /// Gives the lock back now; the last reference, which closes the descriptor, may be with another thread for a moment.
    func unlock() {
        flock(descriptor, LOCK_UN)
    }

    /// Whether the path still leads to this file, which may have got another name, or lost all of them.
    ///
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    func isAtPath() throws -> Bool {
        try OpenFile.identity(path) == attributes().identity
    }
}

extension OpenFile {
    /// Gives a file another name; replaces what has that name, atomically.
    static func rename(_ path: String, to target: String) throws {
        try retrying(path) { systemRename(path, target) }
    }

    /// Gives a file another name besides the one that it has; that name must be free.
    static func link(_ path: String, to target: String) throws {
        try retrying(path) { systemLink(path, target) }
    }

    /// Gives a file another name, unless there is something of that name.
    ///
    /// - Returns: Whether the name was free; otherwise nothing has changed.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    static func renameIfFree(_ path: String, to target: String) throws -> Bool {
        guard let isLinked = try linkIfFree(path, to: target) else {
            // The file system has no second names: an empty file takes the name until the rename.
            guard try isFree({ _ = try OpenFile(target, for: .creating) }) else { return false }
            do {
                try rename(path, to: target)
            } catch {
                try? remove(target)
                throw error
            }
            return true
        }
        // It has its name; what is left of the other one is removed like other unfinished files.
        if isLinked { try? remove(path) }
        return isLinked
    }

    /// Gives a file another name besides the one that it has, unless there is something of that name.
    ///
    /// - Returns: Whether the name was free; `nil` where the file system has no second names. Nothing has changed unless it is `true`.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    static func linkIfFree(_ path: String, to target: String) throws -> Bool? {
        do {
            return try isFree { try link(path, to: target) }
        } catch PowerSyncAttachmentError.ioError(let error as POSIXError)
            // A system may forbid second names and allow everything else; a lack of permission shows again at what follows.
            where [EPERM, EACCES, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(error.code.rawValue)
        {
            return nil
        }
    }

    /// Whether a call that creates a name exclusively has found it free.
    private static func isFree(_ create: () throws -> Void) throws -> Bool {
        do {
            try create()
            return true
        } catch PowerSyncAttachmentError.ioError(let error as POSIXError) where error.code == .EEXIST {
            return false
        }
    }

    /// Whether two paths lead to one file: through links, or because the volume ignores case.
    ///
    /// Where there is no file, they do not.
    static func isSame(_ path: String, _ other: String) -> Bool {
        guard let first = try? identity(path), let second = try? identity(other) else { return false }
        return first == second
    }

    /// What a file is, whichever of its paths leads to it.
    struct Identity: Sendable, Hashable {
        /// The volume.
        let device: UInt64
        /// Its number on the volume.
        let inode: UInt64
    }

    /// What the system says about a regular file.
    struct Attributes: Sendable, Equatable {
        /// Which file it is.
        let identity: Identity
        /// The size in bytes.
        let size: Int64
        /// When it was last written, or got a name: the later of both.
        let changed: Date
    }

    /// Which file a path leads to, also through symbolic links; `nil` when there is none.
    ///
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)`` when that cannot be found out.
    static func identity(_ path: String) throws -> Identity? {
        var status = stat()
        do {
            try retrying(path) { unsafe stat(path, &status) }
        } catch PowerSyncAttachmentError.fileNotFound {
            return nil
        } catch PowerSyncAttachmentError.ioError(let error as POSIXError) where error.code == .ENAMETOOLONG {
            return nil
        }
        return status.identity
    }

    /// Removes a file or link.
    ///
    /// No error when there is none.
    static func remove(_ path: String) throws {
        do {
            try retrying(path) { unsafe unlink(path) }
        } catch PowerSyncAttachmentError.fileNotFound {
            return
        }
    }

    /// What the system says about the regular file at a path; `nil` when there is none.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - followsLinks: Whether a symbolic link counts as what it points to.
    /// - Returns: What it says, or `nil`.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    static func attributes(_ path: String, followsLinks: Bool = true) throws -> Attributes? {
        var status = stat()
        do {
            try retrying(path) { unsafe followsLinks ? stat(path, &status) : lstat(path, &status) }
        } catch PowerSyncAttachmentError.fileNotFound {
            return nil
        }
        guard status.isRegular else { return nil }
        return status.attributes
    }

    /// Waits until the name of a new file is on the disk.
    ///
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``; the file has been removed then.
    static func synchronizeNewName(_ path: String) throws {
        do {
            try synchronizeDirectory(AttachmentPath.directory(of: path))
        } catch {
            try? remove(path)
            throw error
        }
    }

    /// Waits until the names in a directory are on the disk, where the file system can say so.
    static func synchronizeDirectory(_ path: String) throws {
        let directory = try OpenFile(path, for: .reading)
        do {
            try directory.synchronize()
        } catch PowerSyncAttachmentError.ioError(let error as POSIXError) where error.code == .EINVAL {
            return
        }
    }
}

extension stat {
    fileprivate var isRegular: Bool { st_mode & S_IFMT == S_IFREG }

    fileprivate var identity: OpenFile.Identity {
        // The types differ from system to system.
        OpenFile.Identity(device: UInt64(truncatingIfNeeded: st_dev), inode: UInt64(truncatingIfNeeded: st_ino))
    }

    fileprivate var attributes: OpenFile.Attributes {
        OpenFile.Attributes(identity: identity, size: Int64(st_size), changed: changed)
    }
}

// The names of these functions are hidden inside the type.
private let systemRead = unsafe read(_:_:_:)
private let systemWrite = unsafe write(_:_:_:)

private func systemLink(_ path: String, _ target: String) -> CInt { unsafe link(path, target) }

private func systemRename(_ path: String, _ target: String) -> CInt { unsafe rename(path, target) }

/// Calls a POSIX function until it is not interrupted.
@discardableResult
private func retrying<Result: SignedInteger>(
    _ path: String,
    _ call: () -> Result
) throws -> Result {
    while true {
        let result = call()
        guard result == -1 else { return result }
        switch errno {
        case EINTR: continue
        // A part of the path that is a file has nothing below it.
        case ENOENT, ENOTDIR: throw PowerSyncAttachmentError.fileNotFound(path)
        case let code: throw PowerSyncAttachmentError.ioError(POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO))
        }
    }
}
