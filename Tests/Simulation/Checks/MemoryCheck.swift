/// Whether the processes of a world take more and more memory.
///
/// What a process has is measured whenever everything is at rest: then nothing is on its way, and caches of SQLite are not counted. What it
/// has the first time is what it needs; later it may have twice as much, and ``allowance`` besides, for what comes with the number of rows.
struct MemoryCheck {
    /// How many bytes a process may have more than twice as much as at first.
    static let allowance = 512 << 10

    /// What each process had the first time, by its number.
    private var first: [Int: Int] = [:]

    /// Notes what a process has.
    ///
    /// - Parameters:
    ///   - process: The number of the process.
    ///   - bytes: How much it has.
    /// - Returns: What is wrong; `nil` for nothing.
    mutating func measure(_ process: Int, _ bytes: Int) -> String? {
        guard let before = first[process] else {
            first[process] = bytes
            return nil
        }
        guard bytes > 2 * before + Self.allowance else { return nil }
        return "it has \(bytes >> 10) KiB of memory at rest, and had \(before >> 10) KiB before"
    }
}
