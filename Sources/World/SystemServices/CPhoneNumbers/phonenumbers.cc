// SPDX-License-Identifier: Apache-2.0
#include "CPhoneNumbers.h"

#include <exception>
#include <string>

#include <phonenumbers/phonenumberutil.h>

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;

// No exception may pass into Swift: what the library cannot do is "no number".
int64_t handset_phone_number(const char *text, size_t length, const char *region) {
    try {
        PhoneNumber number;
        const PhoneNumberUtil *util = PhoneNumberUtil::GetInstance();
        const std::string country = region[0] != 0 ? region : "ZZ";
        if (util->Parse(std::string(text, length), country, &number) != PhoneNumberUtil::NO_PARSING_ERROR) return 0;
        if (!util->IsPossibleNumber(number)) return 0;
        std::string e164;
        util->Format(number, PhoneNumberUtil::E164, &e164);
        int64_t value = 0;
        for (char digit : e164) {
            if (digit == '+') continue;
            if (digit < '0' || digit > '9' || value > (INT64_MAX - 9) / 10) return 0;
            value = value * 10 + (digit - '0');
        }
        return value;
    } catch (const std::exception &) {
        return 0;
    }
}

int handset_phone_region(const char *region) {
    try {
        return PhoneNumberUtil::GetInstance()->GetCountryCodeForRegion(region) != 0;
    } catch (const std::exception &) {
        return 0;
    }
}
