extension ElapsedClock {
    /// How long the first attempt of a request may take: 8 s.
    private static let firstAttempt = Duration.seconds(8)

    /// Runs a request, and once more when there is no answer to it.
    ///
    /// The first attempt may have gone over a connection that was opened earlier, and that broke without anybody noticing:
    /// the network has changed, or the device slept. Giving it up closes that connection, so that the second attempt
    /// opens one. The limit of both is the caller's.
    ///
    /// - Parameter request: What has no other effect when it is done twice.
    /// - Returns: What `request` returns.
    /// - Throws: What `request` throws.
    func repeatingUnanswered<Result: Sendable>(
        _ request: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        if let answer = try await withAnswerLimit(Self.firstAttempt, request) { return answer }
        return try await request()
    }
}
