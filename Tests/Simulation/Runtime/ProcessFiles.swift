import CSimulation
import Foundation
import TestSupport

/// The database of a process, which the next one goes on with.
///
/// Each process has other files for SQLite, which takes locks of this real process for its own.
struct ProcessFiles {
    /// The folder of each process, by its number.
    let folder: String
    /// The name of the database.
    let name: String
    /// Whether what a process has written and not synced may be lost while the next one runs; otherwise the disk has it by then.
    var keepsUnsynced = false

    /// What a database consists of, but for what SQLite makes anew.
    private static let suffixes = ["", "-wal", "-journal"]

    /// How a disk loses what was written to it and not synced.
    private final class Loss {
        var random: SeededGenerator
        /// How many of 100 writes are lost.
        let percentage: Int
        /// Whether all that follows a lost one is lost, too.
        let isOrdered: Bool
        private var hasLost = false

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            isOrdered = random.number(below: 2) == 0
            percentage = isOrdered ? [1, 5, 20, 100][random.number(below: 4)] : [10, 50, 90][random.number(below: 3)]
        }

        func losesNext() -> Bool {
            hasLost = (isOrdered && hasLost) || random.number(below: 100) < percentage
            return hasLost
        }
    }

    func folder(_ process: Int) -> String { "\(folder)/\(process)" }
    func path(_ process: Int) -> String { "\(folder(process))/\(name)" }

    /// Gives a process the files of an earlier one, if there are any.
    ///
    /// - Parameters:
    ///   - process: The number of the process that begins.
    ///   - earlier: The number of the one that it goes on for.
    ///   - seed: The machine of that one has lost its power: decides about what was not synced; `nil` when it has not.
    /// - Returns: How many writes the disk did not need to have.
    /// - Throws: When the files cannot be copied.
    @discardableResult
    func begin(_ process: Int, from earlier: Int, losing seed: UInt64?) throws -> Int {
        try FileManager.default.createDirectory(atPath: folder(process), withIntermediateDirectories: true)
        var unsynced = 0
        for suffix in Self.suffixes where FileManager.default.fileExists(atPath: path(earlier) + suffix) {
            let (old, new) = (path(earlier) + suffix, path(process) + suffix)
            try FileManager.default.copyItem(atPath: old, toPath: new)
            guard let seed else {
                if keepsUnsynced { simulation_move_writes(old, new) }
                continue
            }
            let loss = Unmanaged.passRetained(Loss(seed: seed))
            defer { loss.release() }
            let count = simulation_lose_writes(
                old,
                new,
                { context in
                    context.map { Unmanaged<Loss>.fromOpaque($0).takeUnretainedValue().losesNext() } ?? false
                },
                loss.toOpaque()
            )
            guard count >= 0 else { throw POSIXError(.EIO) }
            unsynced += Int(count)
        }
        for suffix in Self.suffixes { simulation_forget_writes(path(earlier) + suffix) }
        return unsynced
    }
}
