import Foundation

/// The length to which the write-ahead log of a database is written, to detect that another program has cut it.
///
/// ```
/// offset  bytes
///      0     32  magic 0x377f0682 or …83, version, page size, number of the checkpoint, salt (8 bytes), checksum (8 bytes)
///     32      …  frames: page number, pages of the database, salt (8 bytes), checksum (8 bytes), then a page
/// ```
///
/// Integers are big-endian. The log begins anew at its head with another salt; frames with the salt before that one stay behind the new
/// ones until they are overwritten or cut off. A transaction that changes one of its own frames writes the next ones without a salt, and
/// gives it to them when it commits. So frames with the salt of the head never become fewer, and a frame without a page is a gap: something
/// was written behind the end of a log that is shorter than SQLite knows.
///
/// A machine that loses its power may leave gaps in the log, too: frames that the disk had not written yet. SQLite goes on before the
/// first of them, and writes over them. So gaps in what was there when the database was opened are none.
struct WriteAheadLogLength {
    static let headBytes = 32
    static let frameHeadBytes = 24

    /// The salt of the head; `nil` before there is one.
    private var salt: [UInt8]?
    /// Where the frames with that salt end.
    private var end: Int64 = 0
    /// How long the log was when the database was opened.
    private var openedLength: Int64 = 0

    /// Notes what is there when the database has just been opened.
    ///
    /// - Parameters:
    ///   - path: The log.
    ///   - length: Its length in bytes.
    mutating func begin(at path: String, length: Int64) {
        openedLength = length
        // What is there is what SQLite goes on with.
        _ = look(at: path)
    }

    /// Looks at the log.
    ///
    /// - Parameter path: The log. SQLite has no locks on it that could be lost.
    /// - Returns: Whether everything is there that was there at the last look, and nothing was written behind a gap.
    mutating func look(at path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var head = Self.read(Self.headBytes, at: 0, of: descriptor)
        while true {
            if look(at: descriptor, with: head) { return true }
            // It may have begun anew meanwhile.
            let next = Self.read(Self.headBytes, at: 0, of: descriptor)
            if next == head { return false }
            head = next
        }
    }

    private mutating func look(at descriptor: CInt, with head: [UInt8]?) -> Bool {
        let length = Int64(lseek(descriptor, 0, SEEK_END))
        guard let head else {
            (salt, end) = (nil, 0)
            return length == 0
        }
        guard let pageSize = Self.pageSize(in: head) else { return false }
        if salt != Array(head[16..<24]) { (salt, end) = (Array(head[16..<24]), Int64(Self.headBytes)) }
        guard length >= end else { return false }
        let frameBytes = Int64(Self.frameHeadBytes) + pageSize
        // It may have been cut, and grown again since: then the last known frame is in the gap.
        let last = end > Self.headBytes ? Self.read(Self.frameHeadBytes, at: end - frameBytes, of: descriptor) : nil
        if let last, last.allSatisfy({ $0 == 0 }) { return false }
        while end + frameBytes <= length {
            guard let frame = Self.read(Self.frameHeadBytes, at: end, of: descriptor) else { break }
            if frame.allSatisfy({ $0 == 0 }) {
                guard end < openedLength else { return false }
                break
            }
            guard Array(frame[8..<16]) == salt else { break }
            end += frameBytes
        }
        return true
    }

    /// The bytes of a page; `nil` when the head of the log is none.
    static func pageSize(in head: [UInt8]) -> Int64? {
        guard head[0..<3] == [0x37, 0x7f, 0x06], head[3] | 1 == 0x83 else { return nil }
        let pageSize = head[8..<12].reduce(0) { $0 << 8 | Int64($1) }
        return pageSize == 1 ? 65_536 : pageSize
    }

    /// Bytes of a file; `nil` when they are not all there.
    static func read(_ count: Int, at offset: Int64, of descriptor: CInt) -> [UInt8]? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = unsafe max(0, pread(descriptor, buffer.baseAddress, count, off_t(offset)))
        }
        return bytes.count == count ? bytes : nil
    }
}
