/// What has happened, for people.
///
/// `@unchecked`: the simulation has one thread.
package final class Timeline: @unchecked Sendable {
    private let runtime: SimulatedRuntime
    private var lines: [String] = []
    /// Whether lines are printed at once.
    package var isPrinted = false
    /// Whether what the programs log is part of it.
    package var hasLogs = false

    /// How many lines are kept.
    private static let limit = 4000

    init(_ runtime: SimulatedRuntime) { self.runtime = runtime }

    /// Adds a line.
    ///
    /// - Parameters:
    ///   - place: Where it happened: a device, the service, the backend.
    ///   - text: What happened.
    package func add(_ place: String, _ text: @autoclosure () -> String) {
        runtime.withoutOwner {
            let text = text()
            for byte in text.utf8 { runtime.note(UInt64(byte)) }
            write(place, text)
        }
    }

    /// Adds what a program logs, if that is wanted.
    func log(_ place: String, _ text: @autoclosure () -> String) {
        if hasLogs { runtime.withoutOwner { write(place, text()) } }
    }

    private func write(_ place: String, _ text: String) {
        let line = "\(Self.clock(runtime.now)) \(place.padding(to: 8)) \(text)"
        if isPrinted { print(line) }
        lines.append(line)
        if lines.count > 2 * Self.limit { lines.removeFirst(Self.limit) }
    }

    /// The last lines.
    package func last(_ count: Int) -> [String] { lines.suffix(count) }

    /// Nanoseconds as hours, minutes, seconds and milliseconds.
    static func clock(_ time: UInt64) -> String {
        func digits(_ number: UInt64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let milliseconds = time / 1_000_000
        return "\(digits(milliseconds / 3_600_000, 2)):\(digits(milliseconds / 60_000 % 60, 2)):"
            + "\(digits(milliseconds / 1000 % 60, 2)).\(digits(milliseconds % 1000, 3))"
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
