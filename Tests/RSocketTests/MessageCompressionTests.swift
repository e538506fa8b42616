import Testing

@testable import RSocket

@Suite struct MessageCompressionTests {
    @Test(
        arguments: [
            ("", nil), ("permessage-deflate", true), ("permessage-deflate; client_no_context_takeover", true),
            ("Permessage-Deflate;server_max_window_bits=12 ; client_no_context_takeover", true),
            ("permessage-deflate; server_no_context_takeover", false),
            ("permessage-deflate; server_max_window_bits=\"10\"; server_no_context_takeover", false),
            ("permessage-deflate; server_max_window_bits=8", true),
            ("permessage-deflate; server_max_window_bits=15", true),
            ("\tpermessage-deflate\t;\tserver_no_context_takeover", false),
        ] as [(String, Bool?)]
    )
    func theAnswerSaysWhetherTheWindowIsKept(header: String, keepsWindow: Bool?) throws {
        #expect(try MessageCompression.accepted(inAnswer: header)?.keepsWindow == keepsWindow)
    }

    @Test(arguments: [
        "x-webkit-deflate-frame", "permessage-deflate, permessage-deflate",
        "permessage-deflate; client_max_window_bits=8",
        "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=x", "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover", "permessage-deflate;", ";",
        "permessage-deflate; unknown",
    ])
    func otherAnswersAreRefused(header: String) {
        #expect(throws: MessageCompression.UnexpectedAnswer.self) {
            _ = try MessageCompression.accepted(inAnswer: header)
        }
    }

    /// A service accepts the first offer that it can keep, and promises that messages do not refer to each other.
    @Test(
        arguments: [
            ("permessage-deflate", 15, ""),
            ("permessage-deflate; client_max_window_bits", 15, ""),
            ("permessage-deflate; client_max_window_bits=9; client_no_context_takeover", 15, ""),
            ("permessage-deflate; client_max_window_bits=8", 15, ""),
            ("permessage-deflate; server_max_window_bits=15", 15, "; server_max_window_bits=15"),
            ("Permessage-Deflate;SERVER_NO_CONTEXT_TAKEOVER", 15, ""),
            ("permessage-deflate; server_max_window_bits=\"10\"", 10, "; server_max_window_bits=10"),
            ("x-unknown, permessage-deflate; server_max_window_bits=9", 9, "; server_max_window_bits=9"),
            (
                "permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=12", 12,
                "; server_max_window_bits=12"
            ),
            ("permessage-deflate; unknown,permessage-deflate", 15, ""), (MessageCompression.offer, 15, ""),
        ] as [(String, Int, String)]
    )
    func offersAreAnswered(header: String, windowBits: Int, more: String) throws {
        let answer = try #require(MessageCompression.answer(toOffers: header))
        #expect(answer.compression == MessageCompression(keepsWindow: false, sentWindowBits: windowBits))
        #expect(
            answer.header
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover" + more
        )
        // Our own client understands it.
        #expect(try MessageCompression.accepted(inAnswer: answer.header)?.keepsWindow == false)
    }

    @Test(arguments: [
        "", ",", "x-webkit-deflate-frame", "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=8",
        "permessage-deflate; server_max_window_bits=+9", "permessage-deflate; server_max_window_bits=09",
        "permessage-deflate; client_max_window_bits=7", "permessage-deflate; client_max_window_bits=\"",
        "permessage-deflate; client_no_context_takeover=1", "permessage-deflate; server_no_context_takeover=\"\"",
        "permessage-deflate; client_max_window_bits; client_max_window_bits=10", "permessage-deflate;",
    ])
    func otherOffersAreDeclined(header: String) {
        #expect(MessageCompression.answer(toOffers: header) == nil)
    }
}
