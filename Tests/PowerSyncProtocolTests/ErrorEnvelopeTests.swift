import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct ErrorEnvelopeTests {
    @Test func errorsAreWrittenLikeTheEstablishedService() {
        let error = ErrorEnvelope(
            code: .tokenMissing,
            description: "Authentication required",
            name: "AuthorizationError"
        )
        #expect(
            error.encodedJSON().text
                == #"{"error":{"code":"PSYNC_S2106","status":401,"description":"Authentication required","name":"AuthorizationError"}}"#
        )
        #expect(ErrorEnvelope(json: error.encodedJSON()) == error)
    }

    @Test func standardErrorsFollowTheTable() throws {
        let notFound = ErrorEnvelope.routeNotFound(method: "GET", path: "/x")
        #expect(notFound.httpStatus == 404)
        #expect(
            notFound.text
                == "[PSYNC_S2002] The path does not exist on this server\n  The path GET \"/x\" does not exist on this server"
        )
        let invalid = ErrorEnvelope.validationFailed([#"a: "x""#, "b"])
        #expect(invalid.httpStatus == 400)
        #expect(invalid.details == #"["a: \"x\"","b"]"#)
        let unexpected = ErrorEnvelope.internalError(details: "boom")
        #expect(unexpected.httpStatus == 500 && unexpected.severity == .error)
        for error in [notFound, invalid, unexpected] { #expect(ErrorEnvelope(json: error.encodedJSON()) == error) }
    }

    @Test func aStatusOfItsOwnComesBeforeThatOfTheCode() {
        #expect(ErrorEnvelope(code: .tokenMissing, status: 403, description: "").httpStatus == 403)
        #expect(ErrorEnvelope(code: .tokenMissing, description: "").httpStatus == 401)
        #expect(ErrorEnvelope(code: .generic, description: "d").text == "[PSYNC_S2001] d")
    }

    @Test func bodiesOfOtherServersAreReadAsFarAsPossible() {
        for body in [
            "", "<html>", "[]", "{}", #"{"error":"x"}"#, #"{"error":{"status":500}}"#, #"{"error":{"code":1}}"#,
        ] {
            #expect(ErrorEnvelope(json: ByteBuffer(string: body)) == nil)
        }
        let error = ErrorEnvelope(
            json: ByteBuffer(
                string: #"{"error":{"code":"FST_ERR","status":"x","severity":"odd","stack":[],"details":3}}"#
            )
        )
        #expect(error?.code == ErrorCode(rawValue: "FST_ERR"))
        #expect(error?.status == nil && error?.httpStatus == 500 && error?.severity == nil && error?.details == nil)
    }

    @Test(
        arguments: [
            (.tokenExpired, 401), (.keySetRequest, 401), (.noSyncConfig, 500), (.bucketLimit, 500), (.unavailable, 503),
            (.unsupportedMediaType, 415), (.routeNotFound, 404), (.invalidSyncConfig, 422), (.deployConflict, 409),
            (.connectionLimit, 429), (.authenticationConfiguration, 401), (.noActiveConfig, 422),
            (.configRoutesDisabled, 422), (.storageTimeout, 500), (ErrorCode(rawValue: "PSYNC_S2"), 500),
            (.generic, 500), (ErrorCode(rawValue: "PSYNC_S2199"), 401), (ErrorCode(rawValue: "OTHER"), 500),
        ] as [(ErrorCode, Int)]
    )
    func codesHaveTheStatusOfTheTable(code: ErrorCode, status: Int) {
        #expect(code.httpStatus == status)
    }

    @Test(
        arguments: [
            (.invalidSyncConfig, "PSYNC_R0001"), (.internalAssertion, "PSYNC_S0001"), (.rowTooLarge, "PSYNC_S1002"),
            (.replicationLocked, "PSYNC_S1003"), (.nestingTooDeep, "PSYNC_S1004"),
            (.unsupportedStorageVersion, "PSYNC_S1005"), (.copyStopped, "PSYNC_S1103"),
            (.authorityMissing, "PSYNC_S1104"),
            (.databaseMissing, "PSYNC_S1105"), (.hostMissing, "PSYNC_S1106"), (.userMissing, "PSYNC_S1107"),
            (.notADatabaseURI, "PSYNC_S1109"), (.notAPort, "PSYNC_S1110"), (.sourceQuery, "PSYNC_S1120"),
            (.sourceTimeout, "PSYNC_S1121"), (.generic, "PSYNC_S2001"),
            (.routeNotFound, "PSYNC_S2002"), (.unavailable, "PSYNC_S2003"), (.unsupportedMediaType, "PSYNC_S2004"),
            (.authentication, "PSYNC_S2101"), (.tokenSignature, "PSYNC_S2102"), (.tokenExpired, "PSYNC_S2103"),
            (.tokenLifetime, "PSYNC_S2104"), (.tokenAudience, "PSYNC_S2105"), (.tokenMissing, "PSYNC_S2106"),
            (.authenticationConfiguration, "PSYNC_S2201"), (.keySetAddressFamily, "PSYNC_S2202"),
            (.keySetAddressRange, "PSYNC_S2203"), (.keySetRequest, "PSYNC_S2204"), (.noSyncConfig, "PSYNC_S2302"),
            (.connectionLimit, "PSYNC_S2304"), (.bucketLimit, "PSYNC_S2305"), (.storageClusterTime, "PSYNC_S2401"),
            (.storageConnection, "PSYNC_S2402"), (.storageTimeout, "PSYNC_S2403"), (.storageQuery, "PSYNC_S2404"),
            (.keySetURL, "PSYNC_S3102"), (.keySetHost, "PSYNC_S3103"), (.adminAssertion, "PSYNC_S4001"),
            (.noActiveConfig, "PSYNC_S4104"), (.configRoutesDisabled, "PSYNC_S4105"), (.deployConflict, "PSYNC_S4106"),
        ] as [(ErrorCode, String)]
    )
    func codesAreThoseOfTheTable(code: ErrorCode, text: String) {
        #expect(code.rawValue == text)
    }

    @Test func onlyTokenCodesMakeClientsFetchCredentials() {
        #expect(ErrorCode.tokenMissing.isTokenRejected && ErrorCode(rawValue: "PSYNC_S2199").isTokenRejected)
        #expect(!ErrorCode.authenticationConfiguration.isTokenRejected && !ErrorCode.generic.isTokenRejected)
        #expect(!ErrorCode.keySetRequest.isTokenRejected && !ErrorCode.noSyncConfig.isTokenRejected)
    }
}
