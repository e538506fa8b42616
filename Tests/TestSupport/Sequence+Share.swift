import Foundation

extension Sequence {
    /// The cases of a test that looks at one of a few of them, always the same, unless all are wanted.
    ///
    /// `make soak` sets `POWERSYNC_ALL_CASES`, and all cases are there. Which ones are taken does not depend on their order, as
    /// cases of a kind often come at equal distances.
    ///
    /// - Parameter share: Of how many cases one is taken.
    /// - Returns: The cases, in their order.
    package func one(in share: Int) -> [Element] {
        guard ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] == nil else { return Array(self) }
        var generator = SeededGenerator(seed: UInt64(share))
        return filter { _ in generator.number(below: share) == 0 }
    }
}
