import Foundation

/// The most memory that something needs beside what the process has already, as Linux tells it.
struct PeakMemory {
    /// In bytes.
    var bytes: Int

    /// What a process has before something is measured.
    struct Baseline {
        private let bytes: Int

        /// Begins to measure.
        ///
        /// `nil` where the system does not tell.
        init?() {
            // 5 resets the peak to what is resident now.
            try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
            guard let bytes = PeakMemory.status("VmRSS:") else { return nil }
            self.bytes = bytes
        }

        /// The peak since then.
        var peak: PeakMemory? {
            PeakMemory.status("VmHWM:").map { PeakMemory(bytes: max(0, $0 - bytes)) }
        }
    }

    /// Measures a closure.
    ///
    /// - Returns: `nil` where the system does not tell.
    static func of(_ body: () throws -> Void) rethrows -> PeakMemory? {
        let baseline = Baseline()
        try body()
        return baseline?.peak
    }

    private static func status(_ name: String) -> Int? {
        guard let text = try? String(contentsOf: URL(filePath: "/proc/self/status"), encoding: .utf8) else {
            return nil
        }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        // "VmHWM:     12345 kB"
        return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }.map { $0 * 1_024 }
    }
}
