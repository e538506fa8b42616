import Foundation

extension ClosedRange<UInt64> {
    /// Seeds of runs, some of which are cases of a test together: 25 times as many when `make soak` wants all cases.
    ///
    /// - Parameters:
    ///   - count: How many cases.
    ///   - runs: The seeds of a case.
    /// - Returns: The seeds from 1 on.
    package static func portions(_ count: UInt64, of runs: UInt64) -> [Self] {
        let factor: UInt64 = ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] == nil ? 1 : 25
        return (0..<(count * factor)).map { $0 * runs + 1...($0 + 1) * runs }
    }
}
