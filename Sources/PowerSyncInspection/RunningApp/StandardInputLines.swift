import Dispatch
import Foundation
import NIOCore
import PowerSyncProtocol

/// The lines that another program writes to this one, one when asked for one.
///
/// Reading waits on a thread of its own: a task would keep one of those that all tasks share.
struct StandardInputLines {
    /// The longest line, in bytes.
    static let longestLine = 1024 * 1024

    private let handle: FileHandle
    private let queue = DispatchQueue(label: "powersync.inspect.input")
    private var framer = NDJSONFramer(maximumLineLength: Self.longestLine)
    private var buffer = ByteBuffer()
    private var isAtEnd = false

    /// Reads from a handle, which is standard input by default.
    init(_ handle: FileHandle = .standardInput) {
        self.handle = handle
    }

    /// The next line.
    ///
    /// - Returns: `nil` at the end.
    /// - Throws: `FramingError` for a line that is too long.
    mutating func next() async throws -> ByteBuffer? {
        while !isAtEnd {
            if let line = try framer.decode(buffer: &buffer) { return line }
            let data = await withCheckedContinuation { continuation in
                queue.async { [handle] in continuation.resume(returning: handle.availableData) }
            }
            isAtEnd = data.isEmpty
            buffer.writeBytes(data)
        }
        return try framer.decodeLast(buffer: &buffer, seenEOF: true)
    }
}
