import NIOCore
import PowerSyncServiceCore
import PowerSyncServicePostgres
import Testing

@Suite struct PgoutputDecodingTests {
    private func decode(_ name: String) throws -> PgoutputMessage {
        let example = try #require(MessageBuilder.examples.first { $0.name == name })
        return try PgoutputMessage(decoding: example.bytes)
    }

    @Test func transactionsBeginAndEnd() throws {
        let position = try #require(WALPosition("16/B374D848"))
        #expect(
            try decode("begin")
                == .begin(commit: position, committedAt: PostgresInstant(rawValue: 1), transactionID: 700)
        )
        #expect(
            try decode("commit")
                == .commit(
                    commit: WALPosition(rawValue: 1),
                    end: WALPosition(rawValue: 2),
                    committedAt: PostgresInstant(rawValue: -3)
                )
        )
        #expect(try decode("origin") == .origin(position: WALPosition(rawValue: 7), name: "other"))
    }

    @Test func relationsNameTheirColumns() throws {
        guard case .relation(let relation) = try decode("relation") else {
            Issue.record("not a relation")
            return
        }
        #expect(relation.oid == 16400)
        #expect(relation.schema == "public")
        #expect(relation.name == "lists")
        #expect(relation.replicaIdentity == .primaryKey)
        #expect(relation.columns.map(\.name) == ["id", "näme"])
        #expect(relation.columns.map(\.isInIdentity) == [true, false])
        #expect(relation.columns.map(\.type) == [2950, 1043])
        #expect(relation.columns.map(\.typeModifier) == [-1, 24])
    }

    @Test(
        arguments: [("d", .primaryKey), ("n", .nothing), ("f", .full), ("i", .index)]
            as [(Unicode.Scalar, PgoutputRelation.ReplicaIdentity)]
    )
    func relationsSayHowRowsAreIdentified(byte: Unicode.Scalar, identity: PgoutputRelation.ReplicaIdentity) throws {
        let bytes = MessageBuilder("R").integer(UInt32(1)).string("").string("pg_class").byte(byte).integer(Int16(0))
        guard case .relation(let relation) = try PgoutputMessage(decoding: bytes.bytes) else {
            Issue.record("not a relation")
            return
        }
        #expect(relation.replicaIdentity == identity)
        // The server's own schema is sent as nothing.
        #expect(relation.schema == "pg_catalog")
    }

    @Test func typesHaveNames() throws {
        #expect(try decode("type") == .type(16410, schema: "public", name: "mood"))
    }

    @Test func rowsComeWithTheirColumns() throws {
        guard case .insert(16400, let new) = try decode("insert") else {
            Issue.record("not an insert")
            return
        }
        #expect(new.texts == ["1", nil, "ü", ""])
        #expect(new.count == 4)
        #expect(!new.hasUnchanged)
    }

    @Test func updatesMayHaveTheRowBefore() throws {
        guard case .update(16400, nil, let new) = try decode("update") else {
            Issue.record("not an update")
            return
        }
        #expect(new.texts == ["1", "(unchanged)"])
        #expect(new.hasUnchanged)
        guard case .update(16400, .key(let key), let moved) = try decode("update of a key") else {
            Issue.record("not an update of a key")
            return
        }
        #expect(key.texts == ["1", nil])
        #expect(moved.texts == ["2", "b"])
        guard case .update(16400, .full(let old), let changed) = try decode("update of a full row") else {
            Issue.record("not an update of a full row")
            return
        }
        #expect(old.texts == ["1", "a"])
        #expect(changed.texts == ["1", "b"])
    }

    @Test func deletesHaveTheKeyOrTheRow() throws {
        guard case .delete(16400, .key(let key)) = try decode("delete by key"),
            case .delete(16400, .full(let row)) = try decode("delete of a full row")
        else {
            Issue.record("not deletes")
            return
        }
        #expect(key.texts == ["1", nil])
        #expect(row.texts == ["1", "a"])
    }

    @Test func truncatesNameTheirTables() throws {
        #expect(
            try decode("truncate")
                == .truncate(relations: [16400, 16405], options: [.cascade, .restartIdentity])
        )
    }

    @Test func messagesHaveAPrefixAndContent() throws {
        guard case .message(let message) = try decode("message") else {
            Issue.record("not a message")
            return
        }
        #expect(message.isTransactional)
        #expect(message.prefix == "powersync")
        #expect(String(buffer: message.content) == "ping")
        #expect(message.position == WALPosition(rawValue: 9))
    }

    @Test func aMessageInTheMiddleOfABufferIsDecoded() throws {
        let example = try #require(MessageBuilder.examples.first { $0.name == "insert" })
        var buffer = ByteBuffer(string: "before")
        buffer.writeImmutableBuffer(example.bytes)
        buffer.moveReaderIndex(forwardBy: 6)
        #expect(try PgoutputMessage(decoding: buffer) == PgoutputMessage(decoding: example.bytes))
    }

    @Test func framesCarryMessagesAndKeepalives() throws {
        let data = MessageBuilder("w").integer(Int64(1)).integer(Int64(2)).integer(Int64(3)).raw("payload").bytes
        #expect(
            try ReplicationFrame(decoding: data)
                == .walData(
                    start: WALPosition(rawValue: 1),
                    end: WALPosition(rawValue: 2),
                    sentAt: PostgresInstant(rawValue: 3),
                    message: ByteBuffer(string: "payload")
                )
        )
        for wantsReply in [false, true] {
            let bytes = MessageBuilder("k").integer(Int64(5)).integer(Int64(6)).integer(UInt8(wantsReply ? 1 : 0)).bytes
            #expect(
                try ReplicationFrame(decoding: bytes)
                    == .keepalive(
                        end: WALPosition(rawValue: 5),
                        sentAt: PostgresInstant(rawValue: 6),
                        wantsReply: wantsReply
                    )
            )
        }
    }

    @Test func theStatusHas34Bytes() {
        let status = StandbyStatus(
            written: WALPosition(rawValue: 3),
            flushed: WALPosition(rawValue: 2),
            applied: WALPosition(rawValue: 1),
            sentAt: PostgresInstant(rawValue: -1),
            wantsReply: true
        )
        let expected = MessageBuilder("r").integer(Int64(3)).integer(Int64(2)).integer(Int64(1)).integer(Int64(-1))
            .integer(UInt8(1)).bytes
        #expect(status.bytes == expected)
        #expect(status.bytes.readableBytes == 34)
    }

    @Test func positionsHaveTwoForms() throws {
        let position = try #require(WALPosition("16/B374D848"))
        #expect(position.rawValue == 0x16_B374_D848)
        #expect(position.description == "16/B374D848")
        #expect(position.lsn.rawValue == "00000016/B374D848")
        #expect(WALPosition(position.lsn) == position)
        #expect(WALPosition("0/0") == WALPosition(rawValue: 0))
        #expect(WALPosition(rawValue: .max).lsn.rawValue == "FFFFFFFF/FFFFFFFF")
        #expect(WALPosition(rawValue: 0x9fff_ffff).lsn < WALPosition(rawValue: 0xa000_0000).lsn)
        for text in ["", "/", "1", "1/", "/1", "1/2/3", "+1/2", "-1/2", "1/123456789", "x/1", "1/ 1"] {
            #expect(WALPosition(text) == nil, "\(text)")
        }
    }

    @Test func instantsCountFrom2000() {
        #expect(PostgresInstant(rawValue: 0).unixMicroseconds == 946_684_800_000_000)
        #expect(PostgresInstant(unixMicroseconds: 946_684_800_000_001).rawValue == 1)
    }
}
