import Foundation
import TestSupport
import Testing

@testable import PowerSyncServiceSQLite

/// Gaps in write-ahead logs: what a machine has left that lost its power, and what another program has cut.
@Suite struct WriteAheadLogLengthTests {
    private static let pageSize = 512
    private static let salt: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    private static let head: [UInt8] =
        [0x37, 0x7f, 0x06, 0x82, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0] + salt + Array(repeating: 0, count: 8)
    private static let frame: [UInt8] =
        [0, 0, 0, 1, 0, 0, 0, 1] + salt + Array(repeating: 9, count: 8) + Array(repeating: 7, count: pageSize)
    private static let gap = [UInt8](repeating: 0, count: frame.count)

    private let folder: TemporaryFolder
    private var path: String { folder.path("buckets.db-wal") }

    init() throws { folder = try TemporaryFolder() }

    private func write(_ parts: [UInt8]...) throws {
        try Data(parts.joined()).write(to: URL(filePath: path))
    }

    @Test func gapsOfAPowerLossAreWrittenOver() throws {
        try write(Self.head, Self.frame, Self.gap, Self.frame)
        var log = WriteAheadLogLength()
        log.begin(at: path, length: Int64(Self.head.count + 3 * Self.frame.count))
        let isWholeAtFirst = log.look(at: path)
        #expect(isWholeAtFirst)
        try write(Self.head, Self.frame, Self.frame, Self.frame, Self.frame)
        let isWhole = log.look(at: path)
        #expect(isWhole)
    }

    @Test func aGapBehindWhatWasThereAtTheBeginningIsACut() throws {
        try write(Self.head, Self.frame)
        var log = WriteAheadLogLength()
        log.begin(at: path, length: Int64(Self.head.count + Self.frame.count))
        try write(Self.head, Self.frame, Self.gap, Self.frame)
        let isWhole = log.look(at: path)
        #expect(!isWhole)
    }

    @Test func framesThatWereThereAtTheBeginningAreMissed() throws {
        try write(Self.head, Self.frame, Self.frame)
        var log = WriteAheadLogLength()
        log.begin(at: path, length: Int64(Self.head.count + 2 * Self.frame.count))
        try write(Self.head, Self.frame, Self.gap, Self.frame)
        let isWhole = log.look(at: path)
        #expect(!isWhole)
    }
}
