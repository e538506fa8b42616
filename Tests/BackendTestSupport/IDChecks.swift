package import PowerSyncUpload

/// What holds for uploaded ids with every applier, type, collation and spelling: an id is its bytes.
///
/// - A write changes the row with exactly its id, or none.
/// - An id that the database takes for that of another row, or would store as another text, is a rejection that names it.
/// - A rule about the id, and one about the stored row, is never shown or passed with another row.
package struct IDChecks<Applier: IDApplier> {
    private let applier: Applier
    /// What is wrong, as sentences.
    package private(set) var failures: [String] = []
    /// How many writes were rejected because of their spelling.
    package private(set) var rejections = 0

    package init(_ applier: Applier) {
        self.applier = applier
    }

    /// Sends writes for one id to a table that has another, or the same.
    ///
    /// - Parameters:
    ///   - spelling: The two ids.
    ///   - ops: What to send, one after the other, each to the same rows.
    ///   - place: Said with each failure.
    /// - Throws: What the applier throws.
    package mutating func check(
        _ spelling: IDSpelling,
        _ ops: [UpdateType] = [.put, .patch, .delete],
        place: String
    ) async throws {
        // What a table without rows makes of the id that is sent.
        try await applier.clear()
        let isTaken = try await applier.insert(spelling.sent, note: "fresh")
        let fresh = try await applier.rows().first?.id
        let sent = Array(spelling.sent.utf8)
        let isChanged = isTaken && fresh != sent

        for op in ops {
            let place = "\(place), \(op), \(spelling)"
            try await applier.clear()
            try await check(on: [], sent, spelling, op, isChanged: isChanged, isTaken: isTaken, "\(place), on no rows")
            try await applier.clear()
            guard try await applier.insert(spelling.stored, note: "stored") else { continue }
            let before = try await applier.rows()
            try await check(on: before, sent, spelling, op, isChanged: isChanged, isTaken: isTaken, place)

            // A user must not reach a row by a spelling of their own id.
            guard applier.hasRule, sent != Array(spelling.stored.utf8) else { continue }
            try await applier.clear()
            _ = try await applier.insert(spelling.stored, note: "stored")
            let other = try await applier.apply(entry(spelling, op), as: spelling.stored)
            expect(!other.response.rejections.isEmpty, "\(place): the rule was passed with another id")
            try await expectRows(before, place)
        }
    }

    private mutating func check(
        on before: [IDRow],
        _ sent: [UInt8],
        _ spelling: IDSpelling,
        _ op: UpdateType,
        isChanged: Bool,
        isTaken: Bool,
        _ place: String
    ) async throws {
        let isThere = before.contains { $0.id == sent }
        let isFound = try await applier.finds(spelling.sent)
        let (response, shown) = try await applier.apply(entry(spelling, op), as: spelling.sent)
        expect(
            !applier.hasRule || shown == (isThere ? "stored" : nil),
            "\(place): the rule was shown \(shown ?? "no row")"
        )
        if isThere {
            expect(response.rejections.isEmpty, "\(place): rejected, \(response.rejections)")
            try await expectRows(op == .delete ? [] : [IDRow(spelling.sent, "sent")], place)
        } else if isChanged || isFound {
            rejections += 1
            expect(response.rejections.count == 1, "\(place): not rejected")
            let message = response.rejections.first?.message ?? ""
            expect(message.contains("byte by byte"), "\(place): the rejection does not say why: \(message)")
            try await expectRows(before, place)
        } else if op == .put, isTaken {
            // A unique index with a collation of its own may refuse what the column does not take for equal.
            let isRejected = !response.rejections.isEmpty
            try await expectRows(isRejected ? before : before + [IDRow(spelling.sent, "sent")], place)
            expect(!isRejected || !before.isEmpty, "\(place): rejected, \(response.rejections)")
        } else {
            if op == .put { expect(!response.rejections.isEmpty, "\(place): applied, but the table does not take it") }
            try await expectRows(before, place)
        }
    }

    private func entry(_ spelling: IDSpelling, _ op: UpdateType) -> UploadEntry {
        UploadEntry(
            operationID: 1,
            op: op,
            table: "items",
            id: spelling.sent,
            data: op == .delete ? nil : ["note": .string("sent")]
        )
    }

    private mutating func expectRows(_ rows: [IDRow], _ place: String) async throws {
        let found = try await applier.rows()
        expect(Set(found) == Set(rows) && found.count == rows.count, "\(place): \(found) instead of \(rows)")
    }

    private mutating func expect(_ condition: Bool, _ failure: @autoclosure () -> String) {
        if !condition { failures.append(failure()) }
    }
}
