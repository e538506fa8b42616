import Testing

@testable import PowerSyncOperations

/// What `powersync status` says when a service does not answer with its status.
@Suite struct AdminRequestTests {
    @Test(
        arguments: [
            (401, "", "the token is not one of api.tokens"), (502, "<html>", "status 502 instead of the diagnostics"),
            (
                500, #"{"error":{"code":"PSYNC_S0001","description":"Something went wrong"}}"#,
                "status 500 instead of the diagnostics: [PSYNC_S0001] Something went wrong"
            ),
            (
                429, #"{"error":{"code":"PSYNC_S2304","description":"Too many","details":"wait\u001b[31m"}}"#,
                "status 429 instead of the diagnostics: [PSYNC_S2304] Too many: wait[31m"
            ),
        ]
    )
    func whatAServiceSaysInsteadIsPrinted(status: Int, body: String, text: String) {
        #expect(
            AdminRequest.UnexpectedAnswer(status: status, body: body, insteadOf: "the diagnostics").description == text
        )
    }
}
