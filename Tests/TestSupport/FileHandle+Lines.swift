import Dispatch
import Foundation

extension FileHandle {
    /// The lines that another process writes, until its end is closed, which is after its last word.
    ///
    /// A thread of its own reads them, also when nobody listens any more: the process must not wait. The handle is closed at
    /// the end.
    package func lines() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        DispatchQueue(label: "lines of a process").async {
            var rest = Data()
            while case let data = self.availableData, !data.isEmpty {
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(Self.line(rest[..<end]))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            // Not everybody ends the last line.
            if !rest.isEmpty { continuation.yield(Self.line(rest)) }
            continuation.finish()
            try? self.close()
        }
        return lines
    }

    /// A line without its end, which is that of HTTP in some output.
    private static func line(_ bytes: Data) -> String {
        String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes, as: UTF8.self)
    }
}
