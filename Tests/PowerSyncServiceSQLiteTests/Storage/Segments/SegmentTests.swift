import PowerSyncProtocol
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The encoding of segments.
@Suite struct SegmentTests {
    /// An operation with bytes of its own.
    struct Operation: Equatable {
        var opID: Int64
        var kind: SyncOperation.Kind
        var checksum = Checksum(7)
        var targetOp: Int64?
        var texts: [[UInt8]] = [[], [], [], [], []]

        static func put(_ opID: Int64, _ id: String, _ data: String, table: String = "lists") -> Operation {
            row(opID, .put, table, id, data)
        }

        static func remove(_ opID: Int64, _ id: String) -> Operation { row(opID, .remove, "lists", id, "") }

        private static func row(
            _ opID: Int64,
            _ kind: SyncOperation.Kind,
            _ table: String,
            _ id: String,
            _ data: String
        ) -> Operation {
            let texts = [Array("table0of0".utf8), Array(repeating: UInt8(opID & 255), count: 16)]
            return Operation(
                opID: opID,
                kind: kind,
                checksum: Checksum(truncating: opID &* 77_777_777),
                texts: texts + [table, id, data].map { Array($0.utf8) }
            )
        }
    }

    private static let operations: [Operation] = [
        Operation(opID: 3, kind: .clear, checksum: Checksum(0xffff_ffff), targetOp: 9),
        Operation(opID: 4, kind: .move, checksum: .zero, targetOp: 1 << 40),
        Operation(opID: 5, kind: .move), .put(6, "a", #"{"id":"a"}"#), .put(7, "", ""), .remove(8, "ü"),
        .put(1 << 50, "nul\u{0}", String(repeating: "x", count: 100_000), table: "todos"), .put(.max, "z", "{}"),
    ]

    private func encode(_ operations: [Operation]) throws -> [UInt8] {
        var encoder = SegmentEncoder()
        for operation in operations {
            var stored = StoredOperation(
                opID: operation.opID,
                kind: operation.kind,
                checksum: operation.checksum,
                targetOp: operation.targetOp
            )
            // One after the other in memory that lives as long as the call.
            let bytes = operation.texts.flatMap(\.self)
            try bytes.withUnsafeBytes { memory in
                var rest = memory[...]
                func take(_ count: Int) -> UnsafeRawBufferPointer {
                    defer { rest.removeFirst(count) }
                    return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
                }
                stored.sourceTable = take(operation.texts[0].count)
                stored.sourceKey = take(operation.texts[1].count)
                stored.table = take(operation.texts[2].count)
                stored.rowID = take(operation.texts[3].count)
                stored.data = take(operation.texts[4].count)
                try encoder.append(stored)
            }
        }
        #expect(encoder.count == operations.count)
        return encoder.encoded()
    }

    private func decode(_ bytes: [UInt8]) throws -> [Operation] {
        try bytes.withUnsafeBytes { memory in
            var reader = try SegmentReader(memory)
            var operations: [Operation] = []
            while let stored = try reader.next() {
                let texts = [stored.sourceTable, stored.sourceKey, stored.table, stored.rowID, stored.data]
                operations.append(
                    Operation(
                        opID: stored.opID,
                        kind: stored.kind,
                        checksum: stored.checksum,
                        targetOp: stored.targetOp,
                        texts: texts.map { Array($0) }
                    )
                )
            }
            return operations
        }
    }

    @Test func whatIsReadIsWhatWasWritten() throws {
        #expect(try decode(encode(Self.operations)) == Self.operations)
        #expect(try decode(encode([])) == [])
    }

    @Test func firstAndLastOpAreThoseOfTheOperations() throws {
        var encoder = SegmentEncoder()
        #expect(encoder.firstOp == 0)
        for opID in [5, 6, 9] as [Int64] {
            try encoder.append(StoredOperation(opID: opID, kind: .move, checksum: .zero, targetOp: nil))
        }
        #expect((encoder.firstOp, encoder.lastOp) == (5, 9))
        for opID in [9, 8, 0, -1, .min] as [Int64] {
            #expect(throws: StoredValues.Corruption.self) {
                try encoder.append(StoredOperation(opID: opID, kind: .move, checksum: .zero, targetOp: nil))
            }
        }
        #expect((encoder.count, encoder.lastOp) == (3, 9))
    }

    @Test func everyFlippedBitAndEveryMissingByteIsNoticed() throws {
        let bytes = try encode(Array(Self.operations.prefix(6)))
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1 << UInt8(index % 8)
            #expect(throws: StoredValues.Corruption.self, "byte \(index)") { try decode(damaged) }
            #expect(throws: StoredValues.Corruption.self, "byte \(index)") { try decode(Array(bytes.prefix(index))) }
        }
        #expect(throws: StoredValues.Corruption.self) { try decode(bytes + [0]) }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func strangeContentIsAnErrorOrOperations(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let valid = try encode(Array(Self.operations.prefix(6)))
        for _ in 0..<500 {
            var bytes = valid
            for _ in 0...random.number(below: 4) {
                let index = SegmentEncoder.headerBytes + random.number(below: bytes.count - SegmentEncoder.headerBytes)
                bytes[index] = UInt8(random.number(below: 256))
            }
            bytes.removeLast(random.number(below: 2) * random.number(below: 20))
            let checksum = bytes.withUnsafeBytes {
                SegmentEncoder.checksum(of: $0.dropFirst(SegmentEncoder.headerBytes))
            }
            for index in 0..<4 { bytes[1 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(index))) }
            guard let operations = try? decode(bytes) else { continue }
            // In order, whatever they are.
            #expect(operations.map(\.opID) == operations.map(\.opID).sorted(), "seed \(seed)")
        }
    }
}
