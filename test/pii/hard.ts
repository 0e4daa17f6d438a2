import type { PersonalDataType } from '@toolfabric/results';

/** What a person sees at once and a detector of forms may not: counted apart, so that nobody takes the other rate for all. */
export const HARD: Readonly<Record<PersonalDataType, readonly string[]>> = {
  email: [
    'write to ⟦anna.kovacs [at] posta-magyar [dot] hu⟧',
    'anna ⟦at posta-magyar dot hu⟧',
    'a.kovacs@⟦posta-magyar⟧, the usual ending',
    '⟦anna.kovacs＠posta-magyar.hu⟧',
    'mail ⟦marta@xn--pst-cma.hu⟧ please',
    '⟦"anna kovacs"@posta-magyar.hu⟧',
  ],
  phone: [
    'ruf an: ⟦0151-2345678⟧',
    'reach her on ⟦0049 151 23456789⟧',
    'zero one five one ⟦two three four five⟧',
    'اتصل على ⟦٠١٠١٢٣٤٥٦٧٨⟧',
    'extension ⟦4711⟧ at the front desk',
    'my no ⟦98765 43210⟧',
    '⟦138-1234-5678⟧是我的号码',
    'tel.:⟦0 30/45 67 89-0⟧',
    'Ring ⟦01632 960 001⟧ after lunch',
  ],
  iban: [
    'de⟦89370400440532013000⟧ in lower case',
    '⟦DE89-3704-0044-0532-0130-00⟧',
    '⟦DE89 3704 0044 0532 0130\n00⟧',
    'account ⟦0532013000⟧, bank code 37040044',
  ],
  card: [
    '⟦4532 0151\n1283 0366⟧',
    'card ending in ⟦0366⟧',
    '⟦4532.0151.1283.0366⟧',
    '⟦4 5 3 2 0 1 5 1 1 2 8 3 0 3 6 6⟧',
    '卡号⟦６２１４８３０１５９１２３４５⟧',
  ],
  national_id: [
    'the usual number, ⟦219 09 9999⟧',
    '⟦39053344705⟧ is what he typed',
    'passport ⟦C01X00T47⟧',
    'driving licence ⟦MORGA657054SM9IJ⟧',
    'born ⟦7 March 1990⟧ in Leeds',
    'BSN: ⟦111.222.333⟧',
    'ss# ⟦457-55-4623⟧',
  ],
  address: [
    '⟦Flat 3, 12 Rose Gardens, Leeds⟧',
    '⟦5 rue Neuve, Lyon⟧',
    '⟦Lindenstraße 7\n10969 Berlin⟧',
    'the blue house on ⟦Mill Lane⟧, opposite the church',
    '⟦PO Box 1234, Dublin⟧',
    '⟦Hauptstr. 12a, D-80331 München⟧',
    '⟦广州市天河区体育东路12号3栋⟧',
  ],
};
