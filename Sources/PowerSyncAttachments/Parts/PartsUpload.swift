import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP

/// One attempt to upload one file in parts.
struct PartsUpload: Sendable {
    let storage: any AttachmentPartsStorage
    let http: AttachmentHTTPClient
    let options: AttachmentPartsOptions
    let now: @Sendable () -> Date
    /// The attachment, with the size of its file.
    let attachment: Attachment
    let source: UploadSource
    let report: @Sendable (Int64, Int64?) -> Void

    /// The bytes of the parts that the storage has, and those of each part that is on its way.
    private typealias Progress = NIOLockedValueBox<(stored: Int64, moving: [Int: Int64])>

    private var size: Int64 { source.size }
    private var partSize: Int64 { PartsPlan.partSize(wanted: options.partSize, for: size) }

    /// Continues the upload of a journal, or begins one.
    func run(_ journal: inout UploadJournal) async throws {
        do {
            do {
                try await finish(&journal)
            } catch AttachmentStorageError.notFound {
                // The storage has forgotten what the journal tells of; a new upload that is not there either is an error.
                try await begin(&journal)
                try await finish(&journal)
            }
        } catch AttachmentStorageError.alreadyExists {
            // Files are immutable: an earlier attempt has brought it there.
        }
        journal.end()
        report(size, size)
    }

    /// Begins an upload, in place of the one that the journal tells of.
    private func begin(_ journal: inout UploadJournal) async throws {
        let id = try await AttachmentCallPart.named("beginUpload") { try await storage.beginUpload(of: attachment) }
        let record = UploadRecord(
            kind: .parts,
            upload: id,
            id: attachment.id,
            filename: attachment.filename,
            size: size,
            partSize: partSize,
            began: Int64(now().timeIntervalSince1970 * 1000)
        )
        try await journal.begin(record)
    }

    /// Sends what the storage does not have, and lets it make the file.
    private func finish(_ journal: inout UploadJournal) async throws {
        let isContinued =
            journal.record?.continues(
                .parts,
                attachment,
                size: size,
                partSize: partSize,
                now: now(),
                lifetime: options.lifetime
            ) ?? false
        if !isContinued {
            if let old = journal.record, old.kind == .parts { await abort(old) }
            try await begin(&journal)
        }
        guard let record = journal.record else { return }
        let upload = AttachmentPartsUpload(attachment: attachment, id: record.upload)
        var plan = PartsPlan(size: size, partSize: record.partSize, stored: journal.parts)
        // With all parts, the question would be the same that `complete` answers: the upload may have become the file already.
        if plan.storedBytes > 0, !plan.missing.isEmpty { plan.keep(try await found(upload)) }
        for _ in 0..<2 {
            try await send(upload, &plan, &journal)
            try Task.checkCancellation()
            let parts = plan.parts
            let isComplete = try await AttachmentCallPart.named("complete") {
                try await storage.complete(upload, parts: parts)
            }
            // What a storage says after a cancellation must not be committed.
            try Task.checkCancellation()
            guard !isComplete else { return }
            plan.keep(try await found(upload))
            if plan.missing.isEmpty { break }
        }
        await abort(record)
        journal.end()
        throw AttachmentTransferError(
            .unexpectedResponse,
            message:
                "The storage refuses the \(plan.count) parts of \(attachment.filename), which it has taken; the upload begins anew"
        )
    }

    private func found(_ upload: AttachmentPartsUpload) async throws -> [StoredAttachmentPart] {
        try await AttachmentCallPart.named("parts") { try await storage.parts(of: upload) }
    }

    /// Aborts an upload that is of no use; the storage will do it, if this fails.
    private func abort(_ record: UploadRecord) async {
        try? await AttachmentCallPart.named("abort") {
            try await storage.abort(AttachmentPartsUpload(attachment: record.attachment(attachment), id: record.upload))
        }
    }

    /// Changes the progress, and tells how far the upload is.
    private func change(_ progress: Progress, _ body: (inout (stored: Int64, moving: [Int: Int64])) -> Void) {
        let bytes = progress.withLockedValue { progress in
            body(&progress)
            return progress.moving.values.reduce(progress.stored, +)
        }
        report(min(bytes, size), size)
    }

    /// Sends the parts that are missing, on several lanes.
    private func send(
        _ upload: AttachmentPartsUpload,
        _ plan: inout PartsPlan,
        _ journal: inout UploadJournal
    ) async throws {
        let progress = Progress((plan.storedBytes, [:]))
        change(progress) { _ in }
        var waiting = plan.missing[...]
        try await withThrowingTaskGroup(of: StoredAttachmentPart.self) { lanes in
            func sendNext() {
                guard let number = waiting.popFirst() else { return }
                let (offset, count) = (plan.offset(of: number), Int(plan.size(of: number)))
                lanes.addTask { try await send(number, at: offset, count, of: upload, progress) }
            }
            for _ in 0..<max(1, options.lanes) { sendNext() }
            while let part = try await lanes.next() {
                try await journal.add(part)
                plan.add(part)
                change(progress) { progress in
                    progress.moving[part.number] = nil
                    progress.stored += part.size
                }
                sendNext()
            }
        }
    }

    /// Sends one part.
    private func send(
        _ number: Int,
        at offset: Int64,
        _ count: Int,
        of upload: AttachmentPartsUpload,
        _ progress: Progress
    ) async throws -> StoredAttachmentPart {
        let bytes = try await source.part(at: offset, count)
        let part = AttachmentPart(number: number, size: Int64(count), sha256: FileDigest.sha256(of: bytes))
        do {
            return try await send(part, bytes, upload, progress)
        } catch let error as AttachmentTransferError
            where error.code == .status && [400, 401, 403].contains(error.httpStatus)
        {
            // A signature may have expired while the device slept. Or it has the time of a clock that is off: the storage, which says
            // its time when it is asked for something, is asked for its parts.
            if error.httpStatus == 403 { do { _ = try await found(upload) } catch is AttachmentTransferError {} }
            return try await send(part, bytes, upload, progress)
        }
    }

    private func send(
        _ part: AttachmentPart,
        _ bytes: ByteBuffer,
        _ upload: AttachmentPartsUpload,
        _ progress: Progress
    ) async throws -> StoredAttachmentPart {
        let target = try await AttachmentCallPart.named("request") { try await storage.request(for: part, of: upload) }
        var request = HTTPExchangeRequest(target, method: .PUT)
        let file = HTTPExchangeFile(part: bytes) { sent in change(progress) { $0.moving[part.number] = sent } }
        request.body = .file(file)
        let answer = try await http.send(request)
        let (status, headers) = (answer.response.status, answer.response.headers)
        switch status {
        case 200..<300:
            _ = try? await http.body(of: answer, to: request)
        case 404, 410:
            throw AttachmentStorageError.notFound
        default:
            throw await http.failure(.status, of: request, answer)
        }
        guard let etag = headers.first(name: "ETag") else {
            throw AttachmentTransferError(
                .unexpectedResponse,
                message: "\(request.target) took part \(part.number) and did not answer with an ETag",
                httpStatus: status
            )
        }
        let digests = FileDigest.announced(header: headers.first(name:), isWholeFile: true)
        guard digests.allSatisfy({ $0 == part.sha256 }) else {
            throw AttachmentTransferError(
                .digestMismatch,
                message: "\(request.target) has another part \(part.number) than was sent",
                httpStatus: status
            )
        }
        return StoredAttachmentPart(number: part.number, size: part.size, etag: etag, sha256: part.sha256)
    }
}
