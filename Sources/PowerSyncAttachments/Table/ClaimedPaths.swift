import NIOConcurrencyHelpers
import PowerSyncClient

/// The paths at which saves and transfers are writing files, so that no two of them write at one path.
///
/// Paths that differ by case only count as one: on some volumes they are one file.
final class ClaimedPaths: Sendable {
    /// In lower case.
    private let claimed = NIOLockedValueBox<Set<String>>([])

    /// Reserves paths until ``release(_:)``.
    ///
    /// - Parameter paths: Some paths.
    /// - Returns: Those that no other owner has reserved, in the same order.
    func claim(_ paths: [String]) -> [String] {
        claimed.withLockedValue { claimed in paths.filter { claimed.insert($0.lowercased()).inserted } }
    }

    /// Gives reservations back.
    func release(_ paths: [String]) {
        claimed.withLockedValue { claimed in
            for path in paths { claimed.remove(path.lowercased()) }
        }
    }
}
