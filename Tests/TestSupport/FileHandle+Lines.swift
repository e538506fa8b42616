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
            var rest = ""
            while case let data = self.availableData, !data.isEmpty {
                let parts = (rest + String(decoding: data, as: UTF8.self)).split(
                    separator: "\n",
                    omittingEmptySubsequences: false
                )
                parts.dropLast().forEach { continuation.yield(String($0)) }
                rest = parts.last.map(String.init) ?? ""
            }
            continuation.finish()
            try? self.close()
        }
        return lines
    }
}
