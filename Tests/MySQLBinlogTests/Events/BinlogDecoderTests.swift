import MySQLBinlog
import NIOCore
import Testing

@Suite struct BinlogDecoderTests {
    private static let xid: [UInt8] = [7, 0, 0, 0, 0, 0, 0, 0]

    private static func decoder(_ bytes: inout EventBytes, from offset: UInt64 = 4) throws -> BinlogDecoder {
        var decoder = BinlogDecoder(file: "binlog.000009", offset: offset, checksum: bytes.checksum)
        _ = try decoder.decode(bytes.artificial(.rotate, EventBytes.rotate(to: "binlog.000009", offset)))
        if offset == 4 {
            _ = try decoder.decode(bytes.format())
        } else {
            bytes.offset = offset
            _ = try decoder.decode(bytes.format(isArtificial: true))
        }
        return decoder
    }

    // MARK: Places

    @Test func artificialEventsLieNowhere() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes, from: 1234)
        #expect(decoder.offset == 1234)
        let heartbeat = try decoder.decode(bytes.artificial(.heartbeat, next: 1234, Array("binlog.000009".utf8)))
        #expect(heartbeat.map(\.place) == [BinlogPlace(file: "binlog.000009", start: 1234, end: 1234)])
        #expect(heartbeat.first?.summary == "heartbeat binlog.000009 1234")
        #expect(heartbeat.first?.isArtificial == true)
        let xid = try decoder.decode(bytes.event(.xid, Self.xid))
        #expect(xid.map(\.place) == [BinlogPlace(file: "binlog.000009", start: 1234, end: 1265)])
        #expect(xid.first?.isArtificial == false)
    }

    @Test func aHeartbeatOfTheSecondFormHasItsPositionInIt() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let body: [UInt8] = [1, 4] + Array("b.02".utf8) + [2, 9, 254, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
        #expect(
            try decoder.decode(bytes.artificial(.heartbeatV2, body)).map(\.summary) == ["heartbeat b.02 4294967296"]
        )
    }

    @Test func offsetsHave64Bits() throws {
        var bytes = EventBytes()
        let start: UInt64 = 1 << 32 - 10
        var decoder = try Self.decoder(&bytes, from: start)
        let places = try [bytes.event(.xid, Self.xid), bytes.event(.xid, Self.xid)].flatMap { try decoder.decode($0) }
            .map(\.place)
        #expect(places.map(\.start) == [start, start + 31])
        #expect(places.map(\.end) == [start + 31, start + 62])
    }

    @Test func eventsBeforeTheWantedOffsetAreSkipped() throws {
        var bytes = EventBytes()
        var decoder = BinlogDecoder(file: "binlog.000009", offset: 4, checksum: .crc32, from: bytes.offset + 294)
        _ = try decoder.decode(bytes.artificial(.rotate, EventBytes.rotate(to: "binlog.000009", 4)))
        let events = try [bytes.format(), bytes.event(.query, [1]), bytes.event(.xid, Self.xid)].flatMap {
            try decoder.decode($0)
        }
        #expect(events.map(\.summary) == ["format of 9.7.4", "QUERY (2)", "xid"])
    }

    @Test func eventsOfMariaDBWithoutAnOffsetFollowEachOther() throws {
        var bytes = EventBytes(server: "11.8.9-MariaDB")
        var decoder = try Self.decoder(&bytes, from: 500)
        let events = [bytes.event(.xid, hasOffset: false, Self.xid), bytes.event(.xid, Self.xid)]
        #expect(try events.flatMap { try decoder.decode($0) }.map(\.place.end) == [531, 562])
    }

    /// A dump of an encrypted file says once more that it is, without a place.
    @Test func inTheMiddleOfAnEncryptedFileNothingIsOutOfPlace() throws {
        var bytes = EventBytes(server: "11.8.9-MariaDB")
        var decoder = try Self.decoder(&bytes, from: 500)
        var elsewhere = bytes
        let encryption = elsewhere.event(
            .startEncryption,
            flags: 0x80,
            hasOffset: false,
            [UInt8](repeating: 1, count: 17)
        )
        #expect(try decoder.decode(encryption).map(\.place.end) == [500])
        #expect(try decoder.decode(bytes.event(.xid, Self.xid)).map(\.place.start) == [500])
    }

    /// As deep as the metadata is long.
    @Test func arraysOfArraysAreRefused() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let depth = 200
        let body: [UInt8] =
            [1, 0, 0, 0, 0, 0, 1, 0, 1, 97, 0, 1, 98, 0, 1, 20, UInt8(depth)] + [UInt8](repeating: 20, count: depth) + [
                0
            ]
        let event = bytes.event(.tableMap, body)
        #expect { try decoder.decode(event) } throws: { "\($0)".contains("metadata") }
    }

    @Test func aPartThatWouldBeRestoredToMoreThanAnEventCanHaveIsRefused() throws {
        var bytes = EventBytes(server: "11.8.9-MariaDB")
        var decoder = try Self.decoder(&bytes)
        // Thread, duration, no schema, no error, no status, no schema's name; 5 bytes of length; no data.
        let body = [UInt8](repeating: 0, count: 13) + [0, 0x85, 1, 0, 0, 0, 0]
        let event = bytes.event(.queryCompressed, body)
        #expect { try decoder.decode(event) } throws: { "\($0)".contains("compressed part") }
    }

    @Test func onMariaDBAnEventThatWasNotSentIsPassedOver() throws {
        var bytes = EventBytes(server: "10.11.19-MariaDB")
        var decoder = try Self.decoder(&bytes, from: 500)
        _ = bytes.event(.annotateRows, [1, 2, 3])
        #expect(try decoder.decode(bytes.event(.xid, Self.xid)).map(\.place.start) == [526])
    }

    @Test(arguments: ["9.7.4", "11.8.9-MariaDB"])
    func anEventBeforeTheLastIsAnError(_ server: String) throws {
        var bytes = EventBytes(server: server)
        var decoder = try Self.decoder(&bytes, from: 500)
        bytes.offset = 400
        let event = bytes.event(.xid, Self.xid)
        let error = #expect(throws: BinlogError.self) { try decoder.append(event) }
        #expect(error?.reason == .lostPlace(expected: 500))
    }

    @Test func onMySQLAMissingEventIsAnError() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes, from: 500)
        _ = bytes.event(.xid, Self.xid)
        let event = bytes.event(.xid, Self.xid)
        let error = #expect(throws: BinlogError.self) { try decoder.append(event) }
        #expect(
            "\(try #require(error))"
                == "XID (16) in binlog.000009 at 500, header: lost the place in the log: expected an event at 500"
        )
    }

    @Test func aRotateGoesOnInAnotherFile() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes, from: 500)
        let rotate = try decoder.decode(bytes.event(.rotate, EventBytes.rotate(to: "binlog.000010", 4)))
        #expect(rotate.map(\.place) == [BinlogPlace(file: "binlog.000009", start: 500, end: 544)])
        _ = try decoder.decode(bytes.artificial(.rotate, EventBytes.rotate(to: "binlog.000010", 4)))
        bytes.offset = 4
        let format = try decoder.decode(bytes.format())
        #expect(format.map(\.place.file) == ["binlog.000010"])
        #expect(format.map(\.place.start) == [4])
    }

    @Test func anOffsetThatNoFileHasIsAnError() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let event = bytes.event(.rotate, EventBytes.rotate(to: "binlog.000010", .max))
        let error = #expect(throws: BinlogError.self) { try decoder.append(event) }
        #expect(error?.reason == .impossible(.max))
    }

    @Test(
        arguments: [
            // Sizes that cannot be, an algorithm that is not known, no payload, a payload that is not compressed and has half an event.
            [2, 1, 0, 3, 9, 254, 255, 255, 255, 255, 255, 255, 255, 255, 0], [2, 1, 7, 0], [2, 1, 0, 3, 1, 50, 0],
            [2, 1, 0, 3, 1, 9, 0, 1, 2],
            [2, 3, 252, 255, 0, 3, 1, 4, 0, 1, 2, 3, 4], [2, 9],
        ] as [[UInt8]]
    )
    func aPayloadThatCannotBeIsAnError(_ body: [UInt8]) throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let event = bytes.event(.transactionPayload, body)
        #expect(throws: BinlogError.self) { try decoder.decode(event) }
    }

    /// Events of a payload have no checksums and no places.
    @Test func aPayloadThatIsNotCompressedIsRead() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        var inside = EventBytes(checksum: .none)
        let xid = inside.event(.xid, hasOffset: false, Self.xid)
        let body: [UInt8] =
            [2, 3, 252, 255, 0, 3, 1, 54, 0] + Array(repeating: Array(xid.readableBytesView), count: 2).joined()
        let events = try decoder.decode(bytes.event(.transactionPayload, body))
        #expect(events.map(\.summary) == ["xid", "xid"])
        #expect(events.map(\.place.end) == [decoder.offset, decoder.offset])
        #expect(events.allSatisfy { $0.isInPayload && !$0.isArtificial })
    }

    // MARK: Types

    @Test func anUnknownTypeIsSkippedOnlyIfTheServerSaysSo() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let unknown = BinlogEventType(rawValue: 99)
        #expect(try decoder.decode(bytes.event(unknown, flags: 0x80, [1])).map(\.summary) == ["event of type 99"])
        let event = bytes.event(unknown, [1])
        let error = #expect(throws: BinlogError.self) { try decoder.append(event) }
        #expect(error?.reason == .unknownEvent(server: "9.7.4"))
    }

    @Test func rowsOfVersion0AreAnError() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let event = bytes.event(BinlogEventType(rawValue: 20), [1])
        #expect(throws: BinlogError.self) { try decoder.append(event) }
    }

    @Test func anIncidentHasTheServersMessage() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        #expect(
            try decoder.decode(bytes.event(.incident, [1, 0, 4] + Array("lost".utf8))).map(\.summary) == [
                "incident lost"
            ]
        )
    }

    @Test func theTextOfALoadedFileIsBehindThirteenBytesMore() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let body: [UInt8] =
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0] + Array(repeating: 9, count: 13) + [8, 8]
            + Array("s\0LOAD DATA".utf8)
        #expect(try decoder.decode(bytes.event(.executeLoadQuery, body)).map(\.summary) == ["s: LOAD DATA"])
    }

    @Test func rowsOfATableThatWasNotAnnouncedAreAnError() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let event = bytes.event(.writeRows, [5, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 1])
        let error = #expect(throws: BinlogError.self) { try decoder.append(event) }
        #expect(error?.reason == .unknownTable(id: 5))
    }

    @Test func tablesAreForgottenWithTheFile() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let map: [UInt8] = [5, 0, 0, 0, 0, 0, 1, 0, 1, 115, 0, 1, 116, 0, 1, 3, 0, 0]
        let rows: [UInt8] = [5, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 1, 0, 42, 0, 0, 0]
        let events = try [bytes.event(.tableMap, map), bytes.event(.writeRows, rows)].flatMap { try decoder.decode($0) }
        #expect(events.map(\.summary) == ["map s.t 1", "insert t"])
        bytes.offset = 4
        _ = try decoder.decode(bytes.artificial(.rotate, EventBytes.rotate(to: "binlog.000010", 4)))
        _ = try decoder.decode(bytes.format())
        let event = bytes.event(.writeRows, rows)
        #expect(throws: BinlogError.self) { try decoder.append(event) }
    }

    @Test func theEndOfAStatementHasNoRows() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let end = try decoder.decode(bytes.event(.writeRows, [0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 2, 0, 0]))
        #expect(end.map(\.summary) == ["insert -"])
    }

    @Test func anAnnouncementThatIsTheSameIsTheSameObject() throws {
        var bytes = EventBytes()
        var decoder = try Self.decoder(&bytes)
        let map: [UInt8] = [5, 0, 0, 0, 0, 0, 1, 0, 1, 115, 0, 1, 116, 0, 1, 3, 0, 0]
        var other = map
        other[9] = 120
        let maps = try [map, map, other].flatMap { try decoder.decode(bytes.event(.tableMap, $0)) }.map { event in
            guard case .tableMap(let map) = event.body else { throw Unexpected() }
            return map
        }
        #expect(maps[0] === maps[1])
        #expect(maps[1] !== maps[2])
        #expect(maps[2].schema == "x")
    }

    private struct Unexpected: Error {}

    // MARK: Checksums

    @Test func eachFileSaysWhetherItsEventsHaveChecksums() throws {
        var bytes = EventBytes(checksum: .none)
        var decoder = try Self.decoder(&bytes)
        #expect(try decoder.decode(bytes.event(.xid, Self.xid)).map(\.summary) == ["xid"])
        _ = try decoder.decode(bytes.event(.rotate, EventBytes.rotate(to: "binlog.000010", 4)))
        bytes = EventBytes()
        // The server has not said yet that the next file has them.
        _ = try decoder.decode(
            EventBytes(checksum: .none).artificial(.rotate, EventBytes.rotate(to: "binlog.000010", 4))
        )
        _ = try decoder.decode(bytes.format())
        #expect(decoder.format?.checksum == .crc32)
        #expect(try decoder.decode(bytes.event(.xid, Self.xid)).map(\.summary) == ["xid"])
    }
}
