import Foundation
import PowerSyncClient
import PowerSyncSQLite

/// What an element of the watch has changed.
struct WatchElementSummary: Sendable, Equatable {
    /// How many new references are downloaded.
    var inserted = 0
    /// How many archived attachments are wanted again.
    var restored = 0
    /// How many attachments are no longer wanted.
    var archived = 0
}

/// An element of the watch, with all that its transaction needs to know.
private struct WatchElement: Sendable {
    let items: [WatchedAttachmentItem]
    let ids: Set<ExactText>
    let deliveredAt: Int64
    let downloads: Bool
    let archives: Bool
    /// The names of new files.
    var filenames: [ExactText: String] = [:]
    /// The files of archived rows.
    var examined: [ExactText: ExaminedFile] = [:]

    /// What the element changes, given the rows as they are.
    func changes(to rows: [AttachmentStore.StoredRow], now: Int64) -> [(id: String, change: AttachmentChange)] {
        var stored: [ExactText: AttachmentStore.StoredRow] = [:]
        for row in rows { stored[ExactText(row.id)] = row }
        var changes: [(id: String, change: AttachmentChange)] = []
        for item in items {
            let id = ExactText(item.id)
            changes.append((item.id, change(for: item, row: stored[id])))
        }
        if archives {
            for case .attachment(let row) in rows where !ids.contains(ExactText(row.id)) {
                let machine = AttachmentStateMachine(row: row)
                changes.append((row.id, machine.unreferenced(deliveredAt: deliveredAt, now: now)))
            }
        }
        return changes.filter { $0.change != .none }
    }

    private func change(
        for item: WatchedAttachmentItem,
        row: AttachmentStore.StoredRow?
    ) -> AttachmentChange {
        switch row {
        case nil:
            // A row may have gone since the names were asked for. The next element finds that, too.
            guard let filename = filenames[ExactText(item.id)] else { return .none }
            return AttachmentStateMachine.newReference(
                item,
                filename: filename,
                deliveredAt: deliveredAt,
                downloads: downloads
            )
        case .unreadable:
            return .none
        case .attachment(let row):
            let found = examined[ExactText(item.id)].flatMap { $0.isAbout(row) ? $0.file : nil }
            let machine = AttachmentStateMachine(row: row)
            return machine.referenced(file: found, deliveredAt: deliveredAt, downloads: downloads)
        }
    }
}

// Callers hold the service's lock.
extension AttachmentContext {
    /// Follows an element of the watch, in one transaction.
    ///
    /// An element that changes nothing writes nothing. Items that cannot be attachments are logged and skipped.
    ///
    /// - Parameters:
    ///   - items: All references that there are.
    ///   - filenames: The name of a new file; throws for one that may not be.
    ///   - deliveredAt: When the element came, in milliseconds since 1970.
    ///   - downloads: Whether new references are downloaded.
    ///   - archives: Whether rows without a reference are archived.
    ///   - localUri: Where files are now.
    ///   - storage: What to ask for files.
    /// - Returns: What has changed.
    /// - Throws: `CancellationError`, or an error of the database. Nothing has changed then.
    /// - Complexity: O(*n* + *m*), *n* items and *m* rows.
    @discardableResult
    func process(
        _ items: [WatchedAttachmentItem],
        filenames: @Sendable (WatchedAttachmentItem) async throws -> String,
        deliveredAt: Int64,
        downloads: Bool,
        archives: Bool = true,
        localUri: @escaping AttachmentLocation,
        storage: any LocalStorageAdapter
    ) async throws -> WatchElementSummary {
        let store = store
        let rows = try await db.readLock { try store.rows(in: $0) }
        let unique = uniqueItems(items)
        var element = WatchElement(
            items: unique,
            // An item that is skipped as such still is a reference to its row.
            ids: Set(items.map { ExactText($0.id) }),
            deliveredAt: deliveredAt,
            downloads: downloads,
            archives: archives
        )
        let attachments = readable(rows)
        let ids = Set(rows.map { ExactText($0.id) })
        if downloads {
            element.filenames = try await names(of: unique.filter { !ids.contains(ExactText($0.id)) }, filenames)
        }
        let claims = AttachmentContext.claims(of: attachments)
        for row in attachments
        where AttachmentStateMachine(row: row).isRestoredByReference && element.ids.contains(ExactText(row.id)) {
            element.examined[ExactText(row.id)] = try await examineArchived(
                row,
                claims: claims,
                localUri: localUri,
                storage: storage
            )
        }
        logDeletedReferences(attachments, ids: element.ids)
        guard !element.changes(to: rows, now: now()).isEmpty else { return WatchElementSummary() }
        return try await write(element)
    }

    private func write(_ element: WatchElement) async throws -> WatchElementSummary {
        let (store, now) = (store, now())
        return try await db.writeTransaction { transaction in
            var summary = WatchElementSummary()
            for (id, change) in element.changes(to: try store.rows(in: transaction), now: now) {
                try store.apply(change, id: id, in: transaction)
                switch change {
                case .insert: summary.inserted += 1
                case .update(let row) where row.state == .archived: summary.archived += 1
                case .update: summary.restored += 1
                case .none, .remove: break
                }
            }
            return summary
        }
    }

    /// A row that says it has no file is not looked for: files of that name have another owner.
    private func examineArchived(
        _ row: Attachment,
        claims: PathClaims,
        localUri: AttachmentLocation,
        storage: any LocalStorageAdapter
    ) async throws -> ExaminedFile? {
        guard row.localUri != nil else { return ExaminedFile(row: row, file: .missing) }
        return try await examine(row, claims: claims, localUri: localUri, storage: storage)
    }

    /// The first item of each id.
    private func uniqueItems(_ items: [WatchedAttachmentItem]) -> [WatchedAttachmentItem] {
        var first: [ExactText: WatchedAttachmentItem] = [:]
        return items.filter { item in
            guard !item.id.isEmpty else {
                logger.warning("A watched attachment has no id and is skipped", tag: LogTag.attachments)
                return false
            }
            guard let other = first.updateValue(item, forKey: ExactText(item.id)) else { return true }
            first[ExactText(item.id)] = other
            if other.filename != item.filename || other.fileExtension != item.fileExtension {
                logger.warning(
                    "The attachment \(item.id) is watched with several file names; the first counts",
                    tag: LogTag.attachments
                )
            }
            return false
        }
    }

    private func names(
        of items: [WatchedAttachmentItem],
        _ filenames: @Sendable (WatchedAttachmentItem) async throws -> String
    ) async throws -> [ExactText: String] {
        var names: [ExactText: String] = [:]
        for item in items {
            do {
                names[ExactText(item.id)] = try await filenames(item)
            } catch {
                try Task.checkCancellation()
                logger.warning(
                    "The watched attachment \(item.id) is skipped: \(error.localizedDescription)",
                    tag: LogTag.attachments
                )
            }
        }
        return names
    }

    private func logDeletedReferences(_ rows: [Attachment], ids: Set<ExactText>) {
        for row in rows where row.state == .queuedDelete && ids.contains(ExactText(row.id)) {
            logger.warning(
                "The attachment \(row.id) is referenced while it is being deleted",
                tag: LogTag.attachments
            )
        }
    }
}
