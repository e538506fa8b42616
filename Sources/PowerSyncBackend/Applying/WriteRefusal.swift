package import PowerSyncUpload

/// The reason why a write cannot be applied, now and later.
package struct WriteRefusal: Error {
    package var code: EntryRejection.Code
    package var message: String

    package init(code: EntryRejection.Code, message: String) {
        self.code = code
        self.message = message
    }

    /// An id that the table cannot tell from another text; `reason` is what the table does with it, as a part of a sentence.
    package init(table: String, id reason: String) {
        self.init(
            code: .constraint,
            message:
                "Table “\(table)” \(reason). Ids are compared as texts, byte by byte; send the id as it was synced."
        )
    }

    /// A table that clients do not write to.
    package init(unknownTable name: String) {
        self.init(
            code: .unknownTable,
            message: "There is no table “\(name.shortened())” that can be written by clients."
        )
    }

    /// A column that clients do not write to.
    package init(unknownColumn name: String, of table: String) {
        self.init(
            code: .unknownColumn,
            message: "Table “\(table)” has no column “\(name.shortened())” that can be written."
        )
    }

    /// A table whose primary key is not the id.
    package init(keyOf table: String, isNot idColumn: String) {
        self.init(
            code: .unknownTable,
            message: """
                Table “\(table)” cannot be written by clients: its primary key is not a single column “\(idColumn)”.
                """
        )
    }

    /// The rejection of a write with this reason.
    package func rejection(of operationID: Int64) -> EntryRejection {
        EntryRejection(operationID: operationID, code, message: message)
    }
}

/// A local transaction of a client is not applied, because of some of its writes.
package struct RejectedTransaction: Error {
    /// One for each write of the transaction that is not in the database.
    package var rejections: [EntryRejection]

    /// All writes that are not in the database are rejected.
    ///
    /// - Parameters:
    ///   - new: These writes.
    ///   - causes: The rejections of those that are at fault.
    package init(_ new: [UploadEntry], because causes: [EntryRejection]) {
        let causesByNumber = Dictionary(causes.map { ($0.operationID, $0) }, uniquingKeysWith: { first, _ in first })
        // It is repeated for each write, of which there may be 100,000.
        let first =
            causes.first.map { "Write \($0.operationID) of the same transaction: \($0.message.shortened())" } ?? ""
        let numbers = Set(new.map(\.operationID)).union(causesByNumber.keys)
        rejections = numbers.sorted().map { number in
            causesByNumber[number] ?? EntryRejection(operationID: number, .transactionRejected, message: first)
        }
    }

    /// All of these writes leave references unresolved together.
    package init(unresolvedReferencesOf new: [UploadEntry]) {
        rejections = new.map {
            EntryRejection(
                operationID: $0.operationID,
                .constraint,
                message: "The transaction leaves references to rows that are not there."
            )
        }
    }
}
