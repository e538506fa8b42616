import Foundation
import MySQLBinlog
import NIOCore
import TestSupport
import Testing

/// Events of recorded logs that are cut or changed: an error or a value, and nothing else.
///
/// With `POWERSYNC_ALL_CASES` every event at every byte, and each byte with each bit; else some that a seed chooses.
@Suite struct DamagedLogTests {
    private static let isWhole = ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] != nil
    /// One of so many is tried.
    private static let portion = 40
    /// Unpacking a large transaction takes long.
    static let logs = RecordedLog.all.filter { isWhole || $0.name != "json-large" }

    /// The decoder before each event of a log, and the event.
    private static func states(of log: RecordedLog) throws -> [(BinlogDecoder, ByteBuffer)] {
        var decoder = BinlogDecoder(file: "binlog.000001", offset: 4, checksum: .crc32)
        return try log.events().map { event in
            let state = (decoder, event)
            // Some rows are in a form of which the log does not tell, and which only the catalogue knows.
            _ = try? AnyBytes.decode(event, with: &decoder)
            return state
        }
    }

    @Test(arguments: logs)
    func eventsThatEndTooEarlyAreErrors(_ log: RecordedLog) throws {
        var generator = SeededGenerator(seed: 79)
        for (decoder, event) in try Self.states(of: log) {
            for length in 0..<event.readableBytes where Self.isWhole || generator.number(below: Self.portion) == 0 {
                let part = try #require(event.getSlice(at: 0, length: length))
                var other = decoder
                #expect(throws: BinlogError.self) {
                    _ = try AnyBytes.decode(ByteBuffer(bytes: part.readableBytesView), with: &other)
                }
                // As if the server had written no more.
                AnyBytes.decode(Array(part.readableBytesView), after: decoder)
            }
        }
    }

    @Test(arguments: logs)
    func changedBytesAreErrorsOrValues(_ log: RecordedLog) throws {
        var generator = SeededGenerator(seed: 79)
        for (decoder, event) in try Self.states(of: log) {
            let bytes = Array(event.readableBytesView)
            for index in bytes.indices where Self.isWhole || generator.number(below: Self.portion) == 0 {
                let others =
                    Self.isWhole
                    ? (0..<8).map { bytes[index] ^ 1 << $0 } + [0, 0xff] : [UInt8(generator.number(below: 256))]
                for other in others where other != bytes[index] {
                    var changed = bytes
                    changed[index] = other
                    AnyBytes.decode(changed, after: decoder)
                }
            }
        }
    }

    @Test(arguments: logs)
    func changedRemovedAndAddedBytesAreErrorsOrValues(_ log: RecordedLog) throws {
        var generator = SeededGenerator(seed: 81)
        let states = try Self.states(of: log)
        for _ in 0..<(Self.isWhole ? 20000 : 100) {
            let (decoder, event) = states[generator.number(below: states.count)]
            var bytes = Array(event.readableBytesView)
            for _ in 0...generator.number(below: 6) {
                // The type and the flags stay, so that more is read than a header.
                let index = 19 + generator.number(below: max(1, bytes.count - 19))
                guard index < bytes.count else { break }
                let extreme: [UInt8] = [0, 1, 0x7f, 0x80, 0xfc, 0xfd, 0xfe, 0xff]
                switch generator.number(below: 4) {
                case 0: bytes[index] = UInt8(generator.number(below: 256))
                case 1: bytes[index] = extreme[generator.number(below: extreme.count)]
                case 2: bytes.remove(at: index)
                default: bytes.insert(extreme[generator.number(below: extreme.count)], at: index)
                }
            }
            // As one event, whatever its length is now.
            bytes.replaceSubrange(9..<13, with: (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) })
            AnyBytes.decode(bytes, after: decoder)
        }
    }

    @Test(arguments: logs.filter { $0.name != "no-checksum" })
    func aChangedBitIsFoundByTheChecksum(_ log: RecordedLog) throws {
        var generator = SeededGenerator(seed: 80)
        for (index, state) in try Self.states(of: log).enumerated() where Self.isWhole || index % 10 == 0 {
            var (decoder, event) = state
            let offset = 19 + generator.number(below: event.readableBytes - 19)
            let byte = try #require(event.getInteger(at: offset, as: UInt8.self))
            event.setInteger(byte ^ 1 << UInt8(generator.number(below: 8)), at: offset)
            let isAlgorithm = offset == event.readableBytes - 5 && event.getInteger(at: 4, as: UInt8.self) == 15
            let start = decoder.offset
            let error = #expect(throws: BinlogError.self) { try decoder.append(event) }
            if !isAlgorithm { #expect(error?.reason == .checksum) }
            #expect(error?.file == "binlog.000001")
            #expect(error?.offset == start)
        }
    }

    @Test func noMoreMemoryIsTakenThanThereIsInput() throws {
        try #require(ProcessMemory.isKnown)
        let memory = ProcessMemory()
        // Lengths of 2 GiB to 4 GiB in each field that has one, in events of less than a kilobyte.
        let states = try RecordedLog.named("compressed").flatMap(Self.states)
        try memory.forgetPeak()
        let before = try memory.peak
        for (decoder, event) in states {
            let bytes = Array(event.readableBytesView)
            guard bytes.count > 25 else { continue }
            for index in 19..<bytes.count - 5 where Self.isWhole || index % 7 == 0 {
                var changed = bytes
                changed.replaceSubrange(index..<index + 5, with: [0xfe, 0xff, 0xff, 0xff, 0x7f])
                AnyBytes.decode(changed, after: decoder)
            }
        }
        #expect(try memory.peak - before < 64 << 20)
    }
}
