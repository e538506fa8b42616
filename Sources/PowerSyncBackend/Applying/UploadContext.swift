package import PowerSyncUpload

/// A request with the user who sends it and the options: what is known before a database is asked.
package struct UploadContext: Sendable {
    package let request: UploadRequest
    package let user: BackendUser
    package let options: UploadApplierOptions
    /// Writes that are rejected whatever the app says, by their numbers.
    private let malformed: [Int64: EntryRejection]

    package init(_ request: UploadRequest, _ user: BackendUser, _ options: UploadApplierOptions) {
        self.request = request
        self.user = user
        self.options = options
        malformed = Dictionary(request.rejections.map { ($0.operationID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Checks that the id and the names of a write are texts.
    ///
    /// - Throws: ``WriteRefusal``.
    package func checkForm(of entry: UploadEntry) throws {
        if let rejection = malformed[entry.operationID] {
            throw WriteRefusal(code: rejection.code, message: rejection.message)
        }
    }

    /// Checks that the id of a write is not another spelling of the user's: `==` of Swift, which a rule may well use, takes canonically
    /// equivalent texts for equal.
    ///
    /// - Throws: ``WriteRefusal``.
    package func checkSpelling(of entry: UploadEntry) throws {
        guard entry.id == user.id, !user.hasID(entry.id) else { return }
        throw WriteRefusal(
            code: .constraint,
            message: """
                The id “\(entry.id.shortened())” is another spelling of the user's. Ids are compared as texts, byte by byte.
                """
        )
    }

    /// The values to write by a decision, without the id.
    ///
    /// - Returns: The columns in an order that depends on their names alone; `nil` when there is nothing to write.
    /// - Throws: ``WriteRefusal`` when the write is rejected.
    package func values(of entry: UploadEntry, by decision: WriteDecision) throws -> JsonParam? {
        switch decision.kind {
        case .apply: entry.data ?? [:]
        case .applyValues(let values): values
        case .done: nil
        case .reject(let code, let message): throw WriteRefusal(code: code, message: message)
        }
    }
}
