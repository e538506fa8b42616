package import NIOCore

extension PgoutputMessage {
    /// Reads a message.
    ///
    /// - Parameter bytes: The message of a ``ReplicationFrame/walData(start:end:sentAt:message:)``.
    /// - Throws: ``PgoutputError``; also for messages of later versions of the protocol, which were not asked for.
    package init(decoding bytes: ByteBuffer) throws(PgoutputError) {
        var cursor = PgoutputCursor(bytes, message: "Message of pgoutput")
        let kind = try cursor.byte("kind")
        switch kind {
        case UInt8(ascii: "I"): self = try Self.insert(&cursor)
        case UInt8(ascii: "U"): self = try Self.update(&cursor)
        case UInt8(ascii: "D"): self = try Self.delete(&cursor)
        case UInt8(ascii: "B"): self = try Self.begin(&cursor)
        case UInt8(ascii: "C"): self = try Self.commit(&cursor)
        case UInt8(ascii: "R"): self = try Self.relation(&cursor)
        case UInt8(ascii: "T"): self = try Self.truncate(&cursor)
        case UInt8(ascii: "M"): self = try Self.logicalMessage(&cursor)
        case UInt8(ascii: "O"): self = try Self.origin(&cursor)
        case UInt8(ascii: "Y"): self = try Self.type(&cursor)
        default: throw cursor.error("kind", .unknownByte(kind), bytesBefore: 1)
        }
        try cursor.finish()
    }

    // MARK: Transactions

    private static func begin(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Begin"
        return .begin(
            commit: try cursor.position("commit"),
            committedAt: try cursor.instant("time"),
            transactionID: try cursor.integer("xid")
        )
    }

    private static func commit(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Commit"
        let flags = try cursor.byte("flags")
        guard flags == 0 else { throw cursor.error("flags", .unknownByte(flags), bytesBefore: 1) }
        return .commit(
            commit: try cursor.position("commit"),
            end: try cursor.position("end"),
            committedAt: try cursor.instant("time")
        )
    }

    private static func origin(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Origin"
        return .origin(position: try cursor.position("position"), name: try cursor.string("name"))
    }

    private static func logicalMessage(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Message"
        let flags = try cursor.byte("flags")
        return .message(
            LogicalMessage(
                isTransactional: flags & 1 != 0,
                position: try cursor.position("position"),
                prefix: try cursor.string("prefix"),
                content: try cursor.bytes("content")
            )
        )
    }

    // MARK: Descriptions

    private static func relation(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Relation"
        let oid = try cursor.oid("relation")
        let schema = try cursor.string("schema")
        let name = try cursor.string("name")
        let identityByte = try cursor.byte("replica identity")
        guard let identity = PgoutputRelation.ReplicaIdentity(rawValue: identityByte) else {
            throw cursor.error("replica identity", .unknownByte(identityByte), bytesBefore: 1)
        }
        // Flags, an empty name and its zero, type and modifier.
        let count = try cursor.count("columns", of: Int16.self, each: 10)
        var columns: [PgoutputRelation.Column] = []
        columns.reserveCapacity(count)
        for position in 0..<count {
            let flags: UInt8 = try cursor.integer("flags", column: position)
            columns.append(
                PgoutputRelation.Column(
                    isInIdentity: flags & 1 != 0,
                    name: try cursor.string("name", column: position),
                    type: PostgresOID(rawValue: try cursor.integer("type", column: position)),
                    typeModifier: try cursor.integer("type modifier", column: position)
                )
            )
        }
        return .relation(
            PgoutputRelation(
                oid: oid,
                schema: named(schema),
                name: name,
                replicaIdentity: identity,
                columns: columns
            )
        )
    }

    private static func type(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Type"
        let oid = try cursor.oid("type")
        let schema = try cursor.string("schema")
        return .type(oid, schema: named(schema), name: try cursor.string("name"))
    }

    /// The server sends nothing for its own schema.
    private static func named(_ schema: String) -> String {
        schema.isEmpty ? "pg_catalog" : schema
    }

    // MARK: Changes

    private static func insert(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Insert"
        let relation = try cursor.oid("relation")
        let mark = try cursor.byte("new tuple")
        guard mark == UInt8(ascii: "N") else { throw cursor.error("new tuple", .unknownByte(mark), bytesBefore: 1) }
        return .insert(relation: relation, new: try cursor.tuple("new tuple"))
    }

    private static func update(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Update"
        let relation = try cursor.oid("relation")
        var old: OldTuple?
        var mark = try cursor.byte("old or new tuple")
        if mark != UInt8(ascii: "N") {
            old = try oldTuple(mark, &cursor)
            mark = try cursor.byte("new tuple")
        }
        guard mark == UInt8(ascii: "N") else { throw cursor.error("new tuple", .unknownByte(mark), bytesBefore: 1) }
        return .update(relation: relation, old: old, new: try cursor.tuple("new tuple"))
    }

    private static func delete(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Delete"
        let relation = try cursor.oid("relation")
        let mark = try cursor.byte("old tuple")
        return .delete(relation: relation, old: try oldTuple(mark, &cursor))
    }

    private static func oldTuple(
        _ mark: UInt8,
        _ cursor: inout PgoutputCursor
    ) throws(PgoutputError) -> OldTuple {
        switch mark {
        case UInt8(ascii: "K"): .key(try cursor.tuple("old tuple"))
        case UInt8(ascii: "O"): .full(try cursor.tuple("old tuple"))
        default: throw cursor.error("old tuple", .unknownByte(mark), bytesBefore: 1)
        }
    }

    private static func truncate(_ cursor: inout PgoutputCursor) throws(PgoutputError) -> Self {
        cursor.message = "Truncate"
        // The byte of the options stands before the list, and cannot make up for a relation.
        let count = try cursor.count("relations", of: Int32.self, each: 4)
        let options = TruncateOptions(rawValue: try cursor.byte("options"))
        var relations: [PostgresOID] = []
        relations.reserveCapacity(count)
        for _ in 0..<count { relations.append(try cursor.oid("relations")) }
        return .truncate(relations: relations, options: options)
    }
}
